#include "base/abstract_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace railweave {
namespace {

constexpr int kBacklog = 1024;

struct AbstractAddress {
  sockaddr_un address{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Result<AbstractAddress> address_of(const std::string& name) {
  AbstractAddress made;
  if (name.empty() || name.size() >= sizeof made.address.sun_path)
    return Status(Code::invalid_argument, Scope::engine,
                  "an abstract name of " + std::to_string(name.size()) + " bytes");
  made.address.sun_family = AF_UNIX;
  std::memcpy(made.address.sun_path + 1, name.data(), name.size());  // a zero byte in front makes the name abstract
  made.size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

OwnedFd make_socket() { return OwnedFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<OwnedFd> listen_abstract(const std::string& name) {
  RW_ASSIGN_OR_RETURN(const AbstractAddress at, address_of(name));
  OwnedFd fd = make_socket();
  if (!fd) return system_error(Scope::engine, "socket AF_UNIX");
  if (::bind(fd.get(), at.get(), at.size) != 0) return system_error(Scope::engine, "bind to @" + name);
  if (::listen(fd.get(), kBacklog) != 0) return system_error(Scope::engine, "listen at @" + name);
  return fd;
}

Result<OwnedFd> dial_abstract(const std::string& name) {
  RW_ASSIGN_OR_RETURN(const AbstractAddress to, address_of(name));
  OwnedFd fd = make_socket();
  if (!fd) return system_error(Scope::lane, "socket AF_UNIX");
  if (::connect(fd.get(), to.get(), to.size) == 0) return fd;
  const int err = errno;
  return Status(Code::remote, Scope::lane, std::string(system_error(Scope::lane, "connect to @" + name, err).message()),
                err);
}

}  // namespace railweave
