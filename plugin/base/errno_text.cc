#include "base/errno_text.h"

#include <locale.h>
#include <string.h>

namespace railweave {

const char* errno_text(int err) {
  static const locale_t english = ::newlocale(LC_ALL_MASK, "C", nullptr);  // cannot fail for the locale C
  return ::strerror_l(err, english);
}

}  // namespace railweave
