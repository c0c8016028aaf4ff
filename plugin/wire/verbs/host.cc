#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/host.h"

#include <sys/resource.h>

namespace railweave::wire::verbs {

VerbsHost this_host(const Api& api) {
  VerbsHost host;
  host.api = &api;
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) host.memlock_bytes = limit.rlim_cur;
  return host;
}

}  // namespace railweave::wire::verbs
#endif
