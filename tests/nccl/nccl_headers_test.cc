// Compares our tables with NCCL's own declarations, if NCCL's plugin headers are present. Configure with
// -DRAILWEAVE_NCCL_HEADERS=FOLDER, where FOLDER holds nccl/net.h (in NCCL's sources: ext-net/example). Take them from a
// release: drafts have changed the meaning of a version number. Without the headers this file is empty, and only
// plugin/nccl/abi/net_layout.h checks the layouts.
#if __has_include(<nccl/net.h>)
#include <nccl/net.h>

#include <cstddef>

#include "nccl/abi/net.h"

namespace railweave::nccl {

#define RW_SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) == alignof(theirs))
#define RW_SAME_PLACE(ours, theirs, member) static_assert(offsetof(ours, member) == offsetof(theirs, member))

#define RW_COMPARE(V)                                                        \
  RW_SAME_SIZE(abi::Api<V>::Net, ncclNet_v##V##_t);                          \
  RW_SAME_PLACE(abi::Api<V>::Net, ncclNet_v##V##_t, getProperties);          \
  RW_SAME_PLACE(abi::Api<V>::Net, ncclNet_v##V##_t, connect);                \
  RW_SAME_PLACE(abi::Api<V>::Net, ncclNet_v##V##_t, regMrDmaBuf);            \
  RW_SAME_PLACE(abi::Api<V>::Net, ncclNet_v##V##_t, irecv);                  \
  RW_SAME_PLACE(abi::Api<V>::Net, ncclNet_v##V##_t, test);                   \
  RW_SAME_PLACE(abi::Api<V>::Net, ncclNet_v##V##_t, closeListen);            \
  RW_SAME_SIZE(abi::Api<V>::Properties, ncclNetProperties_v##V##_t);         \
  RW_SAME_PLACE(abi::Api<V>::Properties, ncclNetProperties_v##V##_t, guid);  \
  RW_SAME_PLACE(abi::Api<V>::Properties, ncclNetProperties_v##V##_t, speed); \
  RW_SAME_PLACE(abi::Api<V>::Properties, ncclNetProperties_v##V##_t, maxRecvs)

// Headers of one release name their guards in two ways.
#if defined(NCCL_NET_V6_H_) || defined(NET_V6_H_)
RW_COMPARE(6);
#endif
#if defined(NCCL_NET_V7_H_) || defined(NET_V7_H_)
RW_COMPARE(7);
#endif
#if defined(NCCL_NET_V8_H_) || defined(NET_V8_H_)
RW_COMPARE(8);
#endif
#if defined(NCCL_NET_V9_H_) || defined(NET_V9_H_)
RW_COMPARE(9);
RW_SAME_PLACE(abi::PropertiesV9, ncclNetProperties_v9_t, maxCollBytes);
#endif
#if defined(NCCL_NET_V10_H_) || defined(NET_V10_H_)
RW_COMPARE(10);
#endif
#if defined(NCCL_NET_V11_H_) || defined(NET_V11_H_)
RW_COMPARE(11);
RW_SAME_PLACE(abi::PropertiesV11, ncclNetProperties_v11_t, maxMultiRequestSize);
RW_SAME_PLACE(abi::NetV11, ncclNet_v11_t, setNetAttr);
#endif
#if defined(NCCL_NET_V12_H_) || defined(NET_V12_H_)
RW_COMPARE(12);
RW_SAME_PLACE(abi::PropertiesV12, ncclNetProperties_v12_t, planeId);
#endif

static_assert(abi::kHandleMaxBytes == NCCL_NET_HANDLE_MAXSIZE && abi::kMaxRequests == NCCL_NET_MAX_REQUESTS);

}  // namespace railweave::nccl
#endif
