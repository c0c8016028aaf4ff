#include "processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace railweave::collectives_test {

using collectives::Group;

Result<std::shared_ptr<Group>> join_job(const Group::Options& options, std::uint16_t port,
                                        const std::function<void(std::uint16_t)>& served, bool shared_memory) {
  Config config;
  config.interfaces = "=lo";
  config.shm = shared_memory;
  config.stats_dir.clear();
  auto engine = Engine::start(config);
  if (!engine.ok()) return engine.status();
  std::uint16_t at = port;
  auto store = collectives::tcp_store("127.0.0.1", port, port == 0, std::chrono::seconds(20), &at);
  if (!store.ok()) return store.status();
  if (served) served(at);
  return Group::create(*engine, std::shared_ptr<collectives::Store>(std::move(*store)), options);
}

Process::Process(const std::function<std::string(const Say& say)>& body) {
  int ends[2];
  if (::pipe(ends) != 0) {
    ADD_FAILURE() << "no pipe";
    return;
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::alarm(60);
    ::close(ends[0]);
    const auto say = [&](std::string line) {
      std::ranges::replace(line, '\n', ' ');
      line += '\n';
      [[maybe_unused]] const ssize_t n = ::write(ends[1], line.data(), line.size());
    };
    say(body(say));
    ::_exit(0);
  }
  ::close(ends[1]);
  hears_.reset(ends[0]);
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill();
  ::waitpid(pid_, nullptr, 0);
}

void Process::kill() { ::kill(pid_, SIGKILL); }

std::string Process::line() {
  for (;;) {
    if (const auto end = heard_.find('\n'); end != std::string::npos) {
      std::string first = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return first;
    }
    char part[1024];
    const ssize_t n = ::read(hears_.get(), part, sizeof part);
    if (n <= 0) return "";
    heard_.append(part, std::size_t(n));
  }
}

}  // namespace railweave::collectives_test
