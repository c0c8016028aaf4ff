// Builds the function table of each version from one description. Differences between versions come from the version's
// own struct: members by `requires`, argument types by generic lambdas.
#pragma once

#include <tuple>

#include "nccl/net/entry.h"
#include "nccl/net/outcome.h"
#include "nccl/net/properties.h"

namespace railweave::nccl {

inline constexpr const char* kNetName = "Railweave";  // for NCCL_NET, and in NCCL's log

namespace detail {

// Converts a size, which is an int up to v8. False: negative.
template <class Integer>
bool to_size(Integer size, std::size_t& out) {
  if constexpr (std::is_signed_v<Integer>) {
    if (size < 0) return false;
  }
  out = std::size_t(size);
  return true;
}

// Returns the request, which is the last argument in each version. From v10 on a phandle comes before the request.
template <class... Rest>
void** request_in(Rest... rest) {
  return std::get<sizeof...(Rest) - 1>(std::tuple(rest...));
}

template <class Net>
constexpr void set_life(Net& net) {
  if constexpr (requires { net.finalize; }) {
    net.init = [](void** context, std::uint64_t, abi::CommConfig* config, abi::Logger logger, abi::ProfilerCallback) {
      return guarded("init", [&] { return entry::init(context, config, logger); });
    };
    net.finalize = [](void* context) { return guarded("finalize", [&] { return entry::finalize(context); }); };
    net.setNetAttr = [](void*, abi::NetAttr*) { return abi::kSuccess; };  // the hints are not used yet
  } else {
    net.init = [](abi::Logger logger, auto...) {
      return guarded("init", [&] { return entry::init_for_life(logger); });
    };
  }
}

template <class Net>
constexpr void set_connections(Net& net) {
  if constexpr (requires { net.finalize; }) {
    net.listen = [](void* context, int dev, void* handle, void** comm) {
      return guarded("listen", [&] { return entry::listen(context, dev, handle, comm); });
    };
    net.connect = [](void* context, int dev, void* handle, void** comm, abi::DeviceHandle**) {
      return guarded("connect", [&] { return entry::connect(context, dev, nullptr, handle, comm); });
    };
  } else {
    net.listen = [](int dev, void* handle, void** comm) {
      return guarded("listen", [&] { return entry::listen(nullptr, dev, handle, comm); });
    };
    if constexpr (std::is_same_v<Net, abi::NetV10>) {
      net.connect = [](int dev, abi::CommConfig* config, void* handle, void** comm, abi::DeviceHandle**) {
        return guarded("connect", [&] { return entry::connect(nullptr, dev, config, handle, comm); });
      };
    } else {
      net.connect = [](int dev, void* handle, void** comm, auto...) {
        return guarded("connect", [&] { return entry::connect(nullptr, dev, nullptr, handle, comm); });
      };
    }
  }
  net.accept = [](void* listen_comm, void** comm, auto...) {
    return guarded("accept", [&] { return entry::accept(listen_comm, comm); });
  };
  net.closeSend = [](void* comm) { return guarded("closeSend", [&] { return entry::close_comm(comm); }); };
  net.closeRecv = [](void* comm) { return guarded("closeRecv", [&] { return entry::close_comm(comm); }); };
  net.closeListen = [](void* comm) { return guarded("closeListen", [&] { return entry::close_listen(comm); }); };
}

template <int Version, class Net>
constexpr void set_transfers(Net& net) {
  net.regMr = [](void* comm, void* data, auto size, int type, void** mhandle) {
    return guarded("regMr", [&] {
      std::size_t bytes = 0;
      if (!to_size(size, bytes)) return entry::misuse("regMr: a negative size");
      return entry::reg_mr(comm, data, bytes, type, mhandle);
    });
  };
  net.deregMr = [](void* comm, void* mhandle) {
    return guarded("deregMr", [&] { return entry::dereg_mr(comm, mhandle); });
  };
  net.isend = [](void* comm, void* data, auto size, int, void*, auto... rest) {
    return guarded("isend", [&] {
      std::size_t bytes = 0;
      if (!to_size(size, bytes)) return entry::misuse("isend: a negative size");
      return entry::isend(comm, data, bytes, request_in(rest...));
    });
  };
  net.irecv = [](void* comm, int n, void** data, auto* sizes, int*, void**, auto... rest) {
    return guarded("irecv", [&] {
      std::size_t bytes = 0;
      if (!sizes || !to_size(sizes[0], bytes)) return entry::misuse("irecv: no size, or a negative one");
      return entry::irecv(comm, n, data, &bytes, Version >= 9, request_in(rest...));
    });
  };
  net.iflush = [](void*, int, void**, int*, void**, void**) {
    return guarded("iflush", [] { return entry::iflush(); });
  };
  net.test = [](void* request, int* done, int* sizes) {
    return guarded("test", [&] { return entry::test(request, done, sizes); });
  };
}

}  // namespace detail

// Returns the table of `Version`. Null on purpose: regMrDmaBuf and getDeviceMr (host memory only), irecvConsumed (with
// this entry NCCL would not let requests be reused at test), makeVDevice (Railweave joins NICs, not NCCL).
template <int Version>
constexpr typename abi::Api<Version>::Net make_table() {
  using Properties = typename abi::Api<Version>::Properties;
  typename abi::Api<Version>::Net net{};
  net.name = kNetName;
  net.devices = [](int* count) { return guarded("devices", [&] { return entry::devices(count); }); };
  net.getProperties = [](int dev, Properties* properties) {
    return guarded("getProperties", [&] {
      if (!properties) return entry::misuse("getProperties: a null argument");
      return entry::with_device(dev, [&](const Device& device) { describe(device, dev, *properties); });
    });
  };
  detail::set_life(net);
  detail::set_connections(net);
  detail::set_transfers<Version>(net);
  return net;
}

}  // namespace railweave::nccl
