#include "base/service_thread.h"

#include <pthread.h>

#include <string>
#include <system_error>
#include <utility>

#include "base/process_limits.h"
#include "base/signals_blocked.h"

namespace railweave {

Status start_service_thread(std::thread& thread, const char* name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    thread = std::thread(std::move(body));
    pthread_setname_np(thread.native_handle(), name);
  } catch (const std::system_error& e) {
    return no_thread(e);
  }
  return {};
}

}  // namespace railweave
