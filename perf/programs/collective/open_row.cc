#include "collective/open_row.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>

#include "common/console.h"

namespace railweave::perf::collective {
namespace {

using Flag = std::atomic<bool>;

Flag* make_flag() {
  static constinit Flag own{false};
  void* const page = ::mmap(nullptr, sizeof(Flag), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED ? new (page) Flag(false) : &own;
}

Flag& row_open() {
  static Flag* const flag = make_flag();
  return *flag;
}

void end_row() {
  if (row_open().exchange(false)) std::fputc('\n', stdout);
  std::fflush(stdout);
}

bool streams_are_one() {
  struct stat out, err;
  if (::fstat(STDOUT_FILENO, &out) != 0 || ::fstat(STDERR_FILENO, &err) != 0) return false;
  return out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

}  // namespace

void share_open_row() { row_open(); }

void set_row_open(bool open) { row_open() = open; }

void say_error(std::string_view text) {
  end_row();
  say(stderr, "{}\n", text);
}

void show_warnings(LogLevel level, LogTopic topic, const char* file, int line, std::string_view text) {
  if (level != LogLevel::warn) return;
  if (streams_are_one()) end_row();
  log_to_stderr(level, topic, file, line, text);
}

}  // namespace railweave::perf::collective
