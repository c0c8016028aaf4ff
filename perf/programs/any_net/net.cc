#include "any_net/net.h"

#include <cstring>
#include <type_traits>

namespace railweave::any_net {
namespace {

template <class P>
void read_properties(const P& p, Properties& out) {
  out.name = p.name ? p.name : "";
  out.name_pointer = p.name;
  out.pci_path = p.pciPath ? p.pciPath : "";
  out.guid = p.guid;
  out.ptr_support = p.ptrSupport;
  out.speed_mbps = p.speed;
  out.port = p.port;
  out.latency_us = p.latency;
  out.max_comms = p.maxComms;
  out.max_recvs = p.maxRecvs;
  if constexpr (requires { p.regIsGlobal; }) out.reg_is_global = p.regIsGlobal;
  if constexpr (requires { p.forceFlush; }) out.force_flush = p.forceFlush;
  if constexpr (requires { p.netDeviceType; }) {
    out.net_device_type = p.netDeviceType;
    out.net_device_version = p.netDeviceVersion;
  }
  if constexpr (requires { p.vProps; }) {
    out.vdevices = p.vProps.ndevs;
    out.vdevice_members.assign(std::begin(p.vProps.devs), std::end(p.vProps.devs));
    out.max_p2p_bytes = p.maxP2pBytes;
    out.max_coll_bytes = p.maxCollBytes;
  }
  if constexpr (requires { p.maxMultiRequestSize; }) out.max_multi_request = p.maxMultiRequestSize;
  if constexpr (requires { p.railId; }) {
    out.rail_id = p.railId;
    out.plane_id = p.planeId;
  }
}

// Differences between versions: the type of a message's size, and the arguments before the request.
template <int V>
class NetOf final : public Net {
  using Table = typename abi::Api<V>::Net;
  using Size = std::conditional_t<V <= 8, int, std::size_t>;
  using MemorySize = std::conditional_t<V <= 7, int, std::size_t>;

 public:
  explicit NetOf(const Table& table) : t_(table) {}

  int version() const override { return V; }
  const char* name() const override { return t_.name; }
  bool has_context() const override { return V >= 11; }

  std::vector<std::string> optional_entries() const override {
    std::vector<std::string> present;
    if (t_.regMrDmaBuf) present.push_back("regMrDmaBuf");
    if constexpr (V >= 7) {
      if (t_.getDeviceMr) present.push_back("getDeviceMr");
      if (t_.irecvConsumed) present.push_back("irecvConsumed");
    }
    if constexpr (V >= 9) {
      if (t_.makeVDevice) present.push_back("makeVDevice");
    }
    return present;
  }

  ReturnCode init(void** context, [[maybe_unused]] int traffic_class, abi::Logger logger) override {
    if constexpr (V >= 11) {
      abi::CommConfig config{traffic_class};
      return t_.init(context, 0x1234, &config, logger, nullptr);
    } else {
      *context = nullptr;
      if constexpr (V == 10)
        return t_.init(logger, nullptr);
      else
        return t_.init(logger);
    }
  }
  ReturnCode finalize([[maybe_unused]] void* context) override {
    if constexpr (V >= 11)
      return t_.finalize(context);
    else
      return abi::kSuccess;
  }
  ReturnCode devices(int* count) override { return t_.devices(count); }
  ReturnCode properties(int dev, Properties& out) override {
    typename abi::Api<V>::Properties p;
    std::memset(static_cast<void*>(&p), 0xAA, sizeof p);
    const ReturnCode rc = t_.getProperties(dev, &p);
    if (rc == abi::kSuccess) read_properties(p, out);
    return rc;
  }
  ReturnCode listen([[maybe_unused]] void* context, int dev, void* handle, void** comm) override {
    if constexpr (V >= 11)
      return t_.listen(context, dev, handle, comm);
    else
      return t_.listen(dev, handle, comm);
  }
  ReturnCode connect([[maybe_unused]] void* context, int dev, [[maybe_unused]] int traffic_class, void* handle,
                     void** comm) override {
    [[maybe_unused]] abi::DeviceHandle* device = nullptr;
    if constexpr (V >= 11) {
      return t_.connect(context, dev, handle, comm, &device);
    } else if constexpr (V == 10) {
      abi::CommConfig config{traffic_class};
      return t_.connect(dev, &config, handle, comm, &device);
    } else if constexpr (V >= 7) {
      return t_.connect(dev, handle, comm, &device);
    } else {
      return t_.connect(dev, handle, comm);
    }
  }
  ReturnCode accept(void* listen_comm, void** comm) override {
    [[maybe_unused]] abi::DeviceHandle* device = nullptr;
    if constexpr (V >= 7)
      return t_.accept(listen_comm, comm, &device);
    else
      return t_.accept(listen_comm, comm);
  }
  ReturnCode reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) override {
    return t_.regMr(comm, data, MemorySize(size), type, mhandle);
  }
  ReturnCode dereg_mr(void* comm, void* mhandle) override { return t_.deregMr(comm, mhandle); }
  ReturnCode isend(void* comm, void* data, std::size_t size, void* mhandle, void** request) override {
    constexpr int kTag = 7;
    if constexpr (V >= 10)
      return t_.isend(comm, data, size, kTag, mhandle, nullptr, request);
    else
      return t_.isend(comm, data, Size(size), kTag, mhandle, request);
  }
  ReturnCode irecv(void* comm, int n, void* data, std::size_t size, void* mhandle, void** request) override {
    std::vector<void*> buffers(std::size_t(n), data), handles(std::size_t(n), mhandle);
    std::vector<Size> sizes(buffers.size(), static_cast<Size>(size));
    std::vector<int> tags(buffers.size(), 7);
    if constexpr (V >= 10)
      return t_.irecv(comm, n, buffers.data(), sizes.data(), tags.data(), handles.data(), nullptr, request);
    else
      return t_.irecv(comm, n, buffers.data(), sizes.data(), tags.data(), handles.data(), request);
  }
  ReturnCode iflush(void* comm, void* data, int size, void* mhandle, void** request) override {
    return t_.iflush(comm, 1, &data, &size, &mhandle, request);
  }
  ReturnCode test(void* request, int* done, int* sizes) override { return t_.test(request, done, sizes); }
  ReturnCode close_send(void* comm) override { return t_.closeSend(comm); }
  ReturnCode close_recv(void* comm) override { return t_.closeRecv(comm); }
  ReturnCode close_listen(void* comm) override { return t_.closeListen(comm); }

 private:
  const Table& t_;
};

// Calls visit(version constant) for a version known only at run time; returns null for an unknown version.
template <class Visit>
auto with_version(int version, Visit&& visit) -> decltype(visit(std::integral_constant<int, 12>())) {
  switch (version) {
    case 6: return visit(std::integral_constant<int, 6>());
    case 7: return visit(std::integral_constant<int, 7>());
    case 8: return visit(std::integral_constant<int, 8>());
    case 9: return visit(std::integral_constant<int, 9>());
    case 10: return visit(std::integral_constant<int, 10>());
    case 11: return visit(std::integral_constant<int, 11>());
    case 12: return visit(std::integral_constant<int, 12>());
    default: return nullptr;
  }
}

}  // namespace

std::unique_ptr<Net> net_over(const void* table, int version) {
  return with_version(version, [&]<int V>(std::integral_constant<int, V>) -> std::unique_ptr<Net> {
    return std::make_unique<NetOf<V>>(*static_cast<const typename abi::Api<V>::Net*>(table));
  });
}

const char* symbol_of(int version) {
  return with_version(version, []<int V>(std::integral_constant<int, V>) { return abi::Api<V>::kSymbol; });
}

}  // namespace railweave::any_net
