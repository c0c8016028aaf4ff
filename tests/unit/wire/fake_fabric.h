// A libfabric in memory, for tests of the wire ofi: a table of library functions, whose objects carry blocks between
// endpoints of one FakeFabric. Only what the wire calls exists. One FakeFabric at a time in a process.
// Threads: calls of the library lock; a test reads and writes the fields under no lock while no thread calls.
#pragma once

#if __has_include(<rdma/fabric.h>)

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "wire/ofi/library.h"

namespace railweave::wire::ofi {

class FakeFabric {
 public:
  struct Posted {
    std::byte* memory;
    std::size_t bytes;
    void* context;
  };
  struct Queue {
    fid_cq cq{};
    std::deque<fi_cq_data_entry> done;
    std::deque<fi_cq_err_entry> errors;  // reported before what is done
  };
  struct Endpoint {
    fid_ep ep{};
    std::uint64_t number = 0;  // its name, and its fi_addr_t
    Queue* queue = nullptr;
    std::deque<Posted> receives;
  };

  FakeFabric() { current() = this; }
  ~FakeFabric() { current() = nullptr; }

  Library library() const;

  // --- What the library offers, and what went wrong. fi_getinfo appends to a list what `offers` makes of a question.
  std::function<void(const char* node, const fi_info& hints, std::vector<fi_info*>& list)> offers;
  std::string refused_call;         // this call fails with FI_EIO
  std::uint64_t sendmsg_flags = 0;  // of the last fi_sendmsg
  std::atomic<int> again{0};        // so many sends and receives answer -FI_EAGAIN
  std::atomic<int> busy_closes{0};  // so many closings of endpoints answer -FI_EBUSY
  std::atomic<int> open_endpoints{0}, open_fabrics{0};
  std::uint32_t version = kApiVersion;

  // --- Gates: while one is held, fi_endpoint or fi_close of an endpoint waits.
  void hold_opening(bool held) { set(opening_held_, held); }
  void hold_closing(bool held) { set(closing_held_, held); }

  Endpoint& endpoint(std::uint64_t number) { return *endpoints_.at(number); }

  // Sends a block to an endpoint as a stranger does.
  void send_from_nowhere(std::uint64_t to, std::span<const std::byte> block, std::uint64_t data) {
    const std::lock_guard lock(mutex_);
    deliver(*endpoints_.at(to), block, data);
  }

  static fi_info* make_info();

 private:
  static FakeFabric*& current() {
    static FakeFabric* fabric = nullptr;
    return fabric;
  }
  void set(bool& held, bool value) {
    const std::lock_guard lock(mutex_);
    held = value;
    changed_.notify_all();
  }
  void wait_at(const bool& held) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !held; });
  }
  static int result_of(const char* call) { return current()->refused_call == call ? -FI_EIO : 0; }
  bool says_again() { return again > 0 && again-- > 0; }

  static void deliver(Endpoint& to, std::span<const std::byte> block, std::uint64_t data) {
    const Posted receive = to.receives.front();
    to.receives.pop_front();
    std::memcpy(receive.memory, block.data(), std::min(block.size(), receive.bytes));
    to.queue->done.push_back({receive.context, FI_RECV | FI_REMOTE_CQ_DATA, block.size(), receive.memory, data});
  }

  // Functions of the library
  static int getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                     const fi_info* hints, fi_info** info);
  static fi_info* dupinfo(const fi_info* info);
  static void freeinfo(fi_info* info);
  static int open_fabric(fi_fabric_attr*, fid_fabric** fabric, void*);
  static const char* error_text(int error);
  static std::uint32_t api_version() { return current()->version; }

  // The objects
  static int close_plain(fid* object);
  static int close_queue(fid* object) {
    delete reinterpret_cast<Queue*>(object);
    return 0;
  }
  static int close_endpoint(fid* object);
  static int close_fabric(fid* object);
  static int bind(fid* object, fid* other, std::uint64_t) {
    auto& endpoint = *reinterpret_cast<Endpoint*>(object);
    if (other->fclass == FI_CLASS_CQ) endpoint.queue = reinterpret_cast<Queue*>(other);
    return result_of("fi_ep_bind");
  }
  static int control_endpoint(fid*, int, void*) { return result_of("fi_enable"); }
  static int control_queue(fid*, int, void*) { return -FI_ENODATA; }
  static int open_domain(fid_fabric*, fi_info*, fid_domain** domain, void*);
  static int open_av(fid_domain*, fi_av_attr*, fid_av** av, void*);
  static int open_cq(fid_domain*, fi_cq_attr*, fid_cq** cq, void*);
  static int open_endpoint(fid_domain*, fi_info*, fid_ep** endpoint, void*);
  static int getname(fid_t object, void* name, std::size_t* bytes);
  static int insert(fid_av*, const void* name, std::size_t, fi_addr_t* address, std::uint64_t, void*);
  static ssize_t recv(fid_ep* endpoint, void* memory, std::size_t bytes, void*, fi_addr_t, void* context);
  static ssize_t senddata(fid_ep* endpoint, const void* memory, std::size_t bytes, void*, std::uint64_t data,
                          fi_addr_t to, void* context);
  static ssize_t sendmsg(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
    current()->sendmsg_flags = flags;
    const iovec& piece = *message->msg_iov;
    return senddata(endpoint, piece.iov_base, piece.iov_len, *message->desc, message->data, message->addr,
                    message->context);
  }
  static ssize_t read(fid_cq* cq, void* entries, std::size_t count);
  static ssize_t readerr(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t);
  static const char* queue_text(fid_cq*, int, const void*, char*, std::size_t) { return "the fake's own text"; }

  static fi_ops make_ops(int (*close)(fid*), int (*bind)(fid*, fid*, std::uint64_t) = nullptr,
                         int (*control)(fid*, int, void*) = nullptr) {
    fi_ops ops{};
    ops.size = sizeof ops;
    ops.close = close;
    ops.bind = bind;
    ops.control = control;
    return ops;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool opening_held_ = false, closing_held_ = false;
  std::uint64_t endpoints_made_ = 0;
  std::map<std::uint64_t, Endpoint*> endpoints_;
};

inline Library FakeFabric::library() const {
  Library library;
  library.path = "fake";
  library.getinfo = getinfo;
  library.freeinfo = freeinfo;
  library.dupinfo = dupinfo;
  library.fabric = open_fabric;
  library.strerror = error_text;
  library.version = api_version;
  return library;
}

// --- fi_info

template <class T>
T* zeroed() {
  return static_cast<T*>(std::calloc(1, sizeof(T)));
}

inline fi_info* FakeFabric::make_info() {
  fi_info* const info = zeroed<fi_info>();
  info->tx_attr = zeroed<fi_tx_attr>();
  info->rx_attr = zeroed<fi_rx_attr>();
  info->ep_attr = zeroed<fi_ep_attr>();
  info->domain_attr = zeroed<fi_domain_attr>();
  info->fabric_attr = zeroed<fi_fabric_attr>();
  return info;
}

inline fi_info* FakeFabric::dupinfo(const fi_info* from) {
  fi_info* const info = make_info();
  if (!from) return info;
  const auto text = [](const char* t) { return t ? ::strdup(t) : nullptr; };
  const fi_info parts = *info;
  *info = *from;
  info->next = nullptr;
  *(info->tx_attr = parts.tx_attr) = *from->tx_attr;
  *(info->rx_attr = parts.rx_attr) = *from->rx_attr;
  *(info->ep_attr = parts.ep_attr) = *from->ep_attr;
  *(info->domain_attr = parts.domain_attr) = *from->domain_attr;
  *(info->fabric_attr = parts.fabric_attr) = *from->fabric_attr;
  info->fabric_attr->prov_name = text(from->fabric_attr->prov_name);
  info->domain_attr->name = text(from->domain_attr->name);
  if (from->src_addr) {
    info->src_addr = std::malloc(from->src_addrlen);
    std::memcpy(info->src_addr, from->src_addr, from->src_addrlen);
  }
  return info;
}

inline void FakeFabric::freeinfo(fi_info* info) {
  while (info) {
    fi_info* const next = info->next;
    std::free(info->fabric_attr->prov_name);
    std::free(info->domain_attr->name);
    for (void* part : {static_cast<void*>(info->tx_attr), static_cast<void*>(info->rx_attr),
                       static_cast<void*>(info->ep_attr), static_cast<void*>(info->domain_attr),
                       static_cast<void*>(info->fabric_attr), info->src_addr, static_cast<void*>(info)})
      std::free(part);
    info = next;
  }
}

inline int FakeFabric::getinfo(std::uint32_t, const char* node, const char*, std::uint64_t, const fi_info* hints,
                               fi_info** info) {
  std::vector<fi_info*> list;
  if (current()->offers) current()->offers(node, *hints, list);
  if (list.empty()) return -FI_ENODATA;
  for (std::size_t i = 0; i + 1 < list.size(); ++i) list[i]->next = list[i + 1];
  *info = list.front();
  return 0;
}

inline const char* FakeFabric::error_text(int error) {
  switch (error) {
    case FI_EIO: return "Input/output error";
    case FI_ENODATA: return "No data available";
    case FI_ECONNRESET: return "Connection reset by peer";
    case FI_ECANCELED: return "Operation canceled";
    default: return "another error";
  }
}

// --- opening and closing

inline int FakeFabric::close_plain(fid* object) {
  std::free(object);
  return 0;
}

inline int FakeFabric::open_fabric(fi_fabric_attr*, fid_fabric** fabric, void*) {
  static fi_ops object_ops = make_ops(close_fabric);
  static fi_ops_fabric ops = [] {
    fi_ops_fabric made{};
    made.size = sizeof made;
    made.domain = open_domain;
    return made;
  }();
  *fabric = zeroed<fid_fabric>();
  (*fabric)->fid.ops = &object_ops;
  (*fabric)->ops = &ops;
  if (const int error = result_of("fi_fabric")) return close_plain(&(*fabric)->fid), error;
  ++current()->open_fabrics;
  return 0;
}

inline int FakeFabric::close_fabric(fid* object) {
  --current()->open_fabrics;
  return close_plain(object);
}

inline int FakeFabric::open_domain(fid_fabric*, fi_info*, fid_domain** domain, void*) {
  static fi_ops object_ops = make_ops(close_plain);
  static fi_ops_domain ops = [] {
    fi_ops_domain made{};
    made.size = sizeof made;
    made.av_open = open_av;
    made.cq_open = open_cq;
    made.endpoint = open_endpoint;
    return made;
  }();
  if (const int error = result_of("fi_domain")) return error;
  *domain = zeroed<fid_domain>();
  (*domain)->fid.ops = &object_ops;
  (*domain)->ops = &ops;
  return 0;
}

inline int FakeFabric::open_av(fid_domain*, fi_av_attr*, fid_av** av, void*) {
  static fi_ops object_ops = make_ops(close_plain);
  static fi_ops_av ops = [] {
    fi_ops_av made{};
    made.size = sizeof made;
    made.insert = insert;
    return made;
  }();
  if (const int error = result_of("fi_av_open")) return error;
  *av = zeroed<fid_av>();
  (*av)->fid.ops = &object_ops;
  (*av)->ops = &ops;
  return 0;
}

inline int FakeFabric::open_cq(fid_domain*, fi_cq_attr* attributes, fid_cq** cq, void*) {
  static fi_ops_cq ops = [] {
    fi_ops_cq made{};
    made.size = sizeof made;
    made.read = read;
    made.readerr = readerr;
    made.strerror = queue_text;
    return made;
  }();
  static fi_ops object_ops = make_ops(close_queue, nullptr, control_queue);
  if (attributes->wait_obj != FI_WAIT_NONE) return -FI_ENOSYS;
  if (const int error = result_of("fi_cq_open")) return error;
  auto* const queue = new Queue;
  queue->cq.fid.fclass = FI_CLASS_CQ;
  queue->cq.fid.ops = &object_ops;
  queue->cq.ops = &ops;
  *cq = &queue->cq;
  return 0;
}

inline int FakeFabric::open_endpoint(fid_domain*, fi_info*, fid_ep** to, void*) {
  static fi_ops object_ops = make_ops(close_endpoint, bind, control_endpoint);
  static fi_ops_msg message = [] {
    fi_ops_msg made{};
    made.size = sizeof made;
    made.recv = recv;
    made.senddata = senddata;
    made.sendmsg = sendmsg;
    return made;
  }();
  static fi_ops_cm connection = [] {
    fi_ops_cm made{};
    made.size = sizeof made;
    made.getname = getname;
    return made;
  }();
  FakeFabric& fabric = *current();
  fabric.wait_at(fabric.opening_held_);
  if (const int error = result_of("fi_endpoint")) return error;
  auto* const endpoint = new Endpoint;
  endpoint->ep.fid.ops = &object_ops;
  endpoint->ep.msg = &message;
  endpoint->ep.cm = &connection;
  const std::lock_guard lock(fabric.mutex_);
  endpoint->number = fabric.endpoints_made_++;
  fabric.endpoints_[endpoint->number] = endpoint;
  ++fabric.open_endpoints;
  *to = &endpoint->ep;
  return 0;
}

inline int FakeFabric::close_endpoint(fid* object) {
  FakeFabric& fabric = *current();
  fabric.wait_at(fabric.closing_held_);
  if (fabric.busy_closes > 0 && fabric.busy_closes-- > 0) return -FI_EBUSY;
  auto* const endpoint = reinterpret_cast<Endpoint*>(object);
  const std::lock_guard lock(fabric.mutex_);
  fabric.endpoints_.erase(endpoint->number);
  delete endpoint;
  --fabric.open_endpoints;
  return 0;
}

// --- carrying blocks

inline int FakeFabric::getname(fid_t object, void* name, std::size_t* bytes) {
  const auto& endpoint = *reinterpret_cast<Endpoint*>(object);
  *bytes = sizeof endpoint.number;
  std::memcpy(name, &endpoint.number, sizeof endpoint.number);
  return result_of("fi_getname");
}

inline int FakeFabric::insert(fid_av*, const void* name, std::size_t, fi_addr_t* address, std::uint64_t, void*) {
  std::memcpy(address, name, sizeof *address);
  return result_of("fi_av_insert") == 0 ? 1 : 0;
}

inline ssize_t FakeFabric::recv(fid_ep* to, void* memory, std::size_t bytes, void*, fi_addr_t, void* context) {
  FakeFabric& fabric = *current();
  if (fabric.says_again()) return -FI_EAGAIN;
  const std::lock_guard lock(fabric.mutex_);
  reinterpret_cast<Endpoint*>(to)->receives.push_back({static_cast<std::byte*>(memory), bytes, context});
  return result_of("fi_recv");
}

inline ssize_t FakeFabric::senddata(fid_ep* from, const void* memory, std::size_t bytes, void*, std::uint64_t data,
                                    fi_addr_t to, void* context) {
  FakeFabric& fabric = *current();
  if (const int error = result_of("fi_senddata")) return error;
  if (fabric.says_again()) return -FI_EAGAIN;
  const std::lock_guard lock(fabric.mutex_);
  const auto found = fabric.endpoints_.find(to);
  if (found == fabric.endpoints_.end() || found->second->receives.empty()) return -FI_EAGAIN;
  deliver(*found->second, {static_cast<const std::byte*>(memory), bytes}, data);
  reinterpret_cast<Endpoint*>(from)->queue->done.push_back({context, FI_SEND, 0, nullptr, 0});
  return 0;
}

inline ssize_t FakeFabric::read(fid_cq* cq, void* entries, std::size_t count) {
  const std::lock_guard lock(current()->mutex_);
  auto& queue = *reinterpret_cast<Queue*>(cq);
  if (!queue.errors.empty()) return -FI_EAVAIL;
  const std::size_t n = std::min(count, queue.done.size());
  std::copy_n(queue.done.begin(), n, static_cast<fi_cq_data_entry*>(entries));
  queue.done.erase(queue.done.begin(), queue.done.begin() + std::ptrdiff_t(n));
  return n > 0 ? ssize_t(n) : -FI_EAGAIN;
}

inline ssize_t FakeFabric::readerr(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t) {
  const std::lock_guard lock(current()->mutex_);
  auto& queue = *reinterpret_cast<Queue*>(cq);
  if (queue.errors.empty()) return -FI_EAGAIN;
  *entry = queue.errors.front();
  queue.errors.pop_front();
  return 1;
}

}  // namespace railweave::wire::ofi
#endif
