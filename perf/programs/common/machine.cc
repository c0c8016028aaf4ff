#include "common/machine.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "base/clock.h"

namespace railweave::perf {
namespace {

double seconds_of(const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; }

double machine_busy_s() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  file >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
  return (user + nice + system + irq + softirq) / double(::sysconf(_SC_CLK_TCK));
}

// Returns the text behind "key:" in a file of such lines; empty if no line has the key.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

}  // namespace

CpuUse cpu_use() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return CpuUse{seconds_of(usage.ru_utime), seconds_of(usage.ru_stime), machine_busy_s()};
}

CpuUse operator-(const CpuUse& later, const CpuUse& earlier) {
  return CpuUse{later.user_s - earlier.user_s, later.system_s - earlier.system_s,
                later.machine_busy_s - earlier.machine_busy_s};
}

double measure_background_share(double seconds) {
  if (seconds <= 0) return 0;
  const double before = machine_busy_s();
  const TimePoint start = now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const double elapsed = std::chrono::duration<double>(now() - start).count();
  return (machine_busy_s() - before) / elapsed;
}

double memory_high_water_mib() {
  double kib = 0;
  std::istringstream(value_in("/proc/self/status", "VmHWM")) >> kib;
  return kib / 1024;
}

int open_sockets() {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(std::atoi(entry.path().filename().c_str()), reinterpret_cast<sockaddr*>(&own), &size) != 0)
      continue;
    count += own.ss_family == AF_INET || own.ss_family == AF_INET6;
  }
  return count;
}

nlohmann::json machine_description() {
  utsname names{};
  ::uname(&names);
  return {{"host", names.nodename},
          {"kernel", names.release},
          {"cpu", value_in("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()}};
}

}  // namespace railweave::perf
