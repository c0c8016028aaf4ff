// The simplest net plugin that works between two processes: one TCP socket per comm, an 8-byte length before each
// message, progress inside test() and posting. For testing net_perf without an engine, and as a measure of net_perf's
// own cost beside raw_tcp. Loopback only; exports v9 and v11.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <memory>

#include "nccl/abi/net.h"

namespace {

using namespace railweave::nccl::abi;

struct Request {
  std::byte* data;
  std::uint64_t size;       // bytes of the message; receives: of the buffer
  std::uint64_t moved = 0;  // bytes of the length word and the message together
  std::uint64_t length_word = 0;
  bool done = false;
  struct Comm* comm = nullptr;
};

struct Comm {
  int socket = -1;
  bool sends = false;
  std::deque<std::unique_ptr<Request>> requests;  // posted and not yet reported done
};

bool push(Comm& comm, Request& r) {
  r.length_word = r.size;
  while (r.moved < 8 + r.size) {
    iovec parts[2] = {
        {reinterpret_cast<char*>(&r.length_word) + std::min<std::uint64_t>(r.moved, 8), r.moved < 8 ? 8 - r.moved : 0},
        {r.data + (r.moved < 8 ? 0 : r.moved - 8), r.moved < 8 ? r.size : r.size - (r.moved - 8)}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(comm.socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    r.moved += std::uint64_t(n);
  }
  r.done = true;
  return true;
}

bool pull(Comm& comm, Request& r) {
  while (!r.done) {
    void* to = r.moved < 8 ? static_cast<void*>(reinterpret_cast<char*>(&r.length_word) + r.moved)
                           : static_cast<void*>(r.data + (r.moved - 8));
    const std::uint64_t left = r.moved < 8 ? 8 - r.moved : 8 + r.length_word - r.moved;
    if (left > 0) {
      const ssize_t n = ::recv(comm.socket, to, left, MSG_DONTWAIT);
      if (n < 0) return errno == EAGAIN;
      if (n == 0) return false;
      r.moved += std::uint64_t(n);
    }
    if (r.moved == 8 && r.length_word > r.size) return false;
    r.done = r.moved >= 8 && r.moved == 8 + r.length_word;
  }
  return true;
}

bool advance(Comm& comm) {
  for (auto& request : comm.requests) {
    if (request->done) continue;
    if (!(comm.sends ? push(comm, *request) : pull(comm, *request))) return false;
    if (!request->done) break;
  }
  return true;
}

ReturnCode post(void* comm_pointer, void* data, std::size_t size, void** request) {
  auto& comm = *static_cast<Comm*>(comm_pointer);
  comm.requests.push_back(std::make_unique<Request>(Request{static_cast<std::byte*>(data), size}));
  comm.requests.back()->comm = &comm;
  *request = comm.requests.back().get();
  return advance(comm) ? kSuccess : kRemoteError;
}

ReturnCode test(void* pointer, int* done, int* sizes) {
  auto& request = *static_cast<Request*>(pointer);
  Comm& comm = *request.comm;
  *done = 0;
  if (!request.done && !advance(comm)) return kRemoteError;
  if (!request.done) return kSuccess;
  *done = 1;
  if (sizes != nullptr) *sizes = int(request.length_word);
  for (auto at = comm.requests.begin(); at != comm.requests.end(); ++at) {
    if (at->get() == &request) {
      comm.requests.erase(at);
      break;
    }
  }
  return kSuccess;
}

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

ReturnCode listen_on(void* handle, void** comm) {
  auto listener = std::make_unique<Comm>();
  listener->socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  if (::bind(listener->socket, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(listener->socket, 8) != 0 ||
      ::getsockname(listener->socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return kSystemError;
  }
  std::memcpy(handle, &address, sizeof address);
  *comm = listener.release();
  return kSuccess;
}

void prepare(int socket) {
  const int one = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

ReturnCode connect_to(void* handle, void** comm) {
  auto sender = std::make_unique<Comm>();
  sender->sends = true;
  sender->socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  prepare(sender->socket);
  sockaddr_in address{};
  std::memcpy(&address, handle, sizeof address);
  if (::connect(sender->socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return kSystemError;
  *comm = sender.release();
  return kSuccess;
}

ReturnCode accept_from(void* listener, void** comm) {
  const int socket = ::accept4(static_cast<Comm*>(listener)->socket, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return errno == EAGAIN ? kSuccess : kSystemError;
  prepare(socket);
  auto receiver = std::make_unique<Comm>();
  receiver->socket = socket;
  *comm = receiver.release();
  return kSuccess;
}

ReturnCode close_comm(void* pointer) {
  const std::unique_ptr<Comm> comm(static_cast<Comm*>(pointer));
  ::close(comm->socket);
  return kSuccess;
}

template <class Properties>
ReturnCode get_properties(int, Properties* p) {
  static char name[] = "lo0";
  *p = Properties{};
  p->name = name;
  p->ptrSupport = kPtrHost;
  p->speed = 10000;
  p->maxComms = 1024;
  p->maxRecvs = 1;
  p->vProps.ndevs = 1;
  p->maxP2pBytes = p->maxCollBytes = kMaxMessageBytes;
  return kSuccess;
}

// Returns a table with the members that are equal in both versions.
template <class Table, class Properties>
Table common_table() {
  Table t{};
  t.name = "PlainTcp";
  t.devices = [](int* count) { return *count = 1, kSuccess; };
  t.getProperties = &get_properties<Properties>;
  t.accept = [](void* listener, void** comm, DeviceHandle**) { return accept_from(listener, comm); };
  t.regMr = [](void*, void*, std::size_t, int, void** mhandle) { return *mhandle = nullptr, kSuccess; };
  t.deregMr = [](void*, void*) { return kSuccess; };
  t.test = &test;
  t.closeSend = t.closeRecv = t.closeListen = &close_comm;
  return t;
}

NetV11 make_v11() {
  auto t = common_table<NetV11, PropertiesV11>();
  t.init = [](void** context, std::uint64_t, CommConfig*, Logger, ProfilerCallback) {
    return *context = nullptr, kSuccess;
  };
  t.listen = [](void*, int, void* handle, void** comm) { return listen_on(handle, comm); };
  t.connect = [](void*, int, void* handle, void** comm, DeviceHandle**) { return connect_to(handle, comm); };
  t.isend = [](void* c, void* data, std::size_t size, int, void*, void*, void** r) { return post(c, data, size, r); };
  t.irecv = [](void* c, int, void** data, std::size_t* sizes, int*, void**, void**, void** r) {
    return post(c, data[0], sizes[0], r);
  };
  t.finalize = [](void*) { return kSuccess; };
  return t;
}

NetV9 make_v9() {
  auto t = common_table<NetV9, PropertiesV9>();
  t.init = [](Logger) { return kSuccess; };
  t.listen = [](int, void* handle, void** comm) { return listen_on(handle, comm); };
  t.connect = [](int, void* handle, void** comm, DeviceHandle**) { return connect_to(handle, comm); };
  t.isend = [](void* c, void* data, std::size_t size, int, void*, void** r) { return post(c, data, size, r); };
  t.irecv = [](void* c, int, void** data, std::size_t* sizes, int*, void**, void** r) {
    return post(c, data[0], sizes[0], r);
  };
  return t;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] extern const NetV11 ncclNetPlugin_v11;
[[gnu::visibility("default")]] extern const NetV9 ncclNetPlugin_v9;
const NetV11 ncclNetPlugin_v11 = make_v11();
const NetV9 ncclNetPlugin_v9 = make_v9();
}
