#include "base/loaded_code.h"

#include <dlfcn.h>
#include <link.h>

namespace railweave {

void keep_code_loaded() {
  Dl_info info{};
  link_map* map = nullptr;
  const bool known = ::dladdr1(reinterpret_cast<const void*>(&keep_code_loaded), &info, reinterpret_cast<void**>(&map),
                               RTLD_DL_LINKMAP) != 0;
  if (!known || !map || map->l_name[0] == '\0') return;
  (void)::dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace railweave
