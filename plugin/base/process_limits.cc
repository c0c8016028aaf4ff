#include "base/process_limits.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>

namespace railweave {
namespace {

std::string limit_text(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return "not known";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
}

}  // namespace

std::size_t descriptors_left() {
  rlimit limit{};
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir("/proc/self/fd"), &::closedir);
  if (!open && errno != EMFILE) return SIZE_MAX;  // no /proc: the number is not known
  if (!open || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  std::size_t used = 0;
  while (::readdir(open.get()) != nullptr) ++used;
  used -= 3;  // ".", ".." and the descriptor of `open`
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

std::string descriptor_hint(int err) {
  return err == EMFILE ? fmt::format(" (this process may have {}: ulimit -n)", limit_text(RLIMIT_NOFILE)) : "";
}

std::string port_hint(int err) {
  if (err != EACCES) return {};
  return " (RAILWEAVE_PORTS: ports below net.ipv4.ip_unprivileged_port_start, 1024 as a rule, take the capability "
         "CAP_NET_BIND_SERVICE)";
}

Status no_thread(const std::system_error& why) {
  std::string text = fmt::format("cannot start a thread: {}", why.what());
  if (why.code().value() == EAGAIN)
    text +=
        fmt::format(" (this user may have {}: ulimit -u; a container's pids limit and kernel.threads-max count, too)",
                    limit_text(RLIMIT_NPROC));
  return Status(Code::exhausted, Scope::engine, text, why.code().value());
}

}  // namespace railweave
