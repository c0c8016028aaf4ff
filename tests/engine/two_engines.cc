#include "two_engines.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "tests/engine/account_descriptors.h"
#include "tests/sparing_spin.h"

namespace railweave::engine_test {
namespace {

struct Line {
  LogLevel level;
  std::string text;
};
std::mutex lines_mutex;
std::vector<Line> lines;

void remember(LogLevel level, LogTopic, const char*, int, std::string_view text) {
  const std::lock_guard lock(lines_mutex);
  lines.push_back({level, std::string(text)});
}

}  // namespace

Config loopback() {
  Config config;
  config.interfaces = "=lo";
  config.stats_dir.clear();
  if (kSanitized) config.connect_timeout *= 4;
  return config;
}

std::shared_ptr<Engine> start_engine(const Config& config) {
  Result<std::shared_ptr<Engine>> engine = Engine::start(config);
  if (engine.ok()) return *engine;
  ADD_FAILURE() << "no engine: " << engine.status().message();
  return nullptr;
}

bool eventually(const std::function<bool()>& done, Nanos patience) {
  const TimePoint deadline = now() + patience;
  for (SparingSpin spin; !done(); spin()) {
    if (now() > deadline) return false;
  }
  return true;
}

Ends meet(Connector& connector, Listener& listener, Nanos patience) {
  Ends ends;
  Status failed;
  const bool met = eventually(
      [&] {
        if (!ends.send) {
          auto sent = connector.poll();
          if (!sent.ok()) failed = sent.status();
          if (sent.ok()) ends.send = std::move(*sent);
        }
        if (!ends.recv) {
          auto received = listener.accept();
          if (!received.ok()) failed = received.status();
          if (received.ok()) ends.recv = std::move(*received);
        }
        return !failed.ok() || bool(ends);
      },
      patience);
  EXPECT_TRUE(failed.ok()) << failed.message();
  EXPECT_TRUE(met) << "send end: " << bool(ends.send) << ", receive end: " << bool(ends.recv);
  return ends;
}

Ends join(Engine& from, Engine& to) {
  Handle handle;
  auto listener = to.listen(0, handle);
  if (!listener.ok()) return ADD_FAILURE() << listener.status().message(), Ends{};
  auto connector = from.connect(0, handle);
  if (!connector.ok()) return ADD_FAILURE() << connector.status().message(), Ends{};
  return meet(**connector, **listener);
}

template <class PostOnce>
Request* post_until_room(PostOnce post_once) {
  for (;;) {
    Result<Request*> request = post_once();
    if (!request.ok()) return ADD_FAILURE() << request.status().message(), nullptr;
    if (*request) return *request;
    sched_yield();
  }
}

Request* post_send(SendStream& stream, const std::vector<std::byte>& data) {
  return post_until_room([&] { return stream.post(data.data(), data.size()); });
}

Request* post_recv(RecvStream& stream, std::vector<std::byte>& data) {
  return post_until_room([&] { return stream.post(data.data(), data.size()); });
}

Result<std::size_t> finish(Stream& stream, Request* request, Nanos patience) {
  const TimePoint deadline = now() + patience;
  for (SparingSpin spin;; spin()) {
    Result<Progress> progress = stream.test(request);
    if (!progress.ok()) return progress.status();
    if (progress->done) return progress->bytes;
    if (now() > deadline) return Status(Code::timed_out, Scope::request, "the test's patience ended");
  }
}

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  std::uint32_t x = seed * 2654435761u + 1;
  for (std::byte& b : data) {
    x = x * 1664525u + 1013904223u;
    b = std::byte(x >> 24);
  }
  return data;
}

bool transfer(Ends& ends, std::size_t bytes, unsigned seed) {
  const std::vector<std::byte> data = pattern(bytes, seed);
  std::vector<std::byte> place(bytes + 16, std::byte{0xA5});
  Request* const receive = post_recv(*ends.recv, place);
  Request* const send = post_send(*ends.send, data);
  if (!receive || !send) return false;
  Result<Progress> received = Progress{}, sent = Progress{};
  const bool ended = eventually([&] {
    if (received.ok() && !received->done) received = ends.recv->test(receive);
    if (sent.ok() && !sent->done) sent = ends.send->test(send);
    return !received.ok() || !sent.ok() || (received->done && sent->done);
  });
  EXPECT_TRUE(ended) << "received: " << received->done << ", sent: " << sent->done;
  EXPECT_TRUE(received.ok()) << received.status().message();
  EXPECT_TRUE(sent.ok()) << sent.status().message();
  if (!ended || !received.ok() || !sent.ok()) return false;
  EXPECT_EQ(received->bytes, bytes);
  place.resize(received->bytes);
  EXPECT_TRUE(place == data) << "message of " << bytes << " bytes with seed " << seed << " arrived damaged";
  return place == data;
}

std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%zu %zu", &pages, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * std::size_t(sysconf(_SC_PAGESIZE));
}

int open_descriptors() {
  int count = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(dir)) count += !is_of_an_account(entry->d_name);
  closedir(dir);
  return count - 3;  // ".", "..", and the directory itself
}

LogCapture::LogCapture() {
  {
    const std::lock_guard lock(lines_mutex);
    lines.clear();
  }
  before_ = set_log_sink(remember);
}

LogCapture::~LogCapture() { set_log_sink(before_); }

std::vector<std::string> LogCapture::warnings() const {
  const std::lock_guard lock(lines_mutex);
  std::vector<std::string> found;
  for (const Line& line : lines)
    if (line.level == LogLevel::warn) found.push_back(line.text);
  return found;
}

std::string LogCapture::all() const {
  const std::lock_guard lock(lines_mutex);
  std::string text;
  for (const Line& line : lines) text += line.text + "\n";
  return text;
}

}  // namespace railweave::engine_test
