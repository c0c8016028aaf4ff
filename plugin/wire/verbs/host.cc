#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/host.h"

namespace railweave::wire::verbs {

VerbsHost this_host(const Api& api) {
  VerbsHost host;
  host.api = &api;
  host.memlock_bytes = pin_limit_bytes();
  return host;
}

}  // namespace railweave::wire::verbs
#endif
