#include "tests/nccl/fake_engine.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace railweave {

class Request {
 public:
  bool busy = false, done = false, cancelled = false;
  std::byte* data = nullptr;
  std::size_t size = 0;  // of the message once it is done
};

namespace fake {
namespace {

std::mutex mutex;  // guards all state of the fake engine
std::map<Call, Status> planned_failures;
std::map<Call, bool> planned_throws;
std::map<Call, std::function<void()>> planned_runs;

Status planned(Call call) {
  std::function<void()> first;
  {
    const std::lock_guard lock(mutex);
    first = std::exchange(planned_runs[call], nullptr);
  }
  if (first) first();
  const std::lock_guard lock(mutex);
  if (planned_throws[call]) {
    planned_throws[call] = false;
    throw std::runtime_error("planned by the test");
  }
  const Status status = planned_failures[call];
  planned_failures[call] = {};
  return status;
}

struct Channel {
  std::deque<Request*> sends, receives;

  void match() {
    while (!sends.empty() && !receives.empty()) {
      Request& from = *sends.front();
      Request& to = *receives.front();
      if (from.size) std::memcpy(to.data, from.data, from.size);
      to.size = from.size;
      from.done = to.done = true;
      sends.pop_front();
      receives.pop_front();
    }
  }
};

template <class Base>
class FakeStream : public Base {
 public:
  FakeStream(std::shared_ptr<Engine> engine, std::shared_ptr<Channel> channel)
      : engine_(std::move(engine)), channel_(std::move(channel)) {
    ++counters().streams;
  }
  ~FakeStream() override {
    withdraw_all();
    --counters().streams;
  }

  bool ended(const Request*) const override { return true; }
  Result<Progress> test(Request* request) override {
    if (Status status = planned(Call::test); !status.ok()) {
      request->busy = false;
      return status;
    }
    const std::lock_guard lock(mutex);
    channel_->match();
    if (request->cancelled) return Status(Code::cancelled, Scope::request, "cancelled: its memory was withdrawn");
    if (!request->done) return Progress{};
    request->busy = false;
    return Progress{true, request->size};
  }

  void withdraw(const void* data, std::size_t size) override {
    ++counters().withdrawals;
    const std::lock_guard lock(mutex);
    const auto* const begin = static_cast<const std::byte*>(data);
    std::erase_if(queue(), [&](Request* r) {
      const bool inside = r->data >= begin && r->data < begin + size;
      return inside && (r->cancelled = true);
    });
  }

 protected:
  std::deque<Request*>& queue() {
    if constexpr (std::is_same_v<Base, SendStream>)
      return channel_->sends;
    else
      return channel_->receives;
  }

  Result<Request*> enqueue(const void* data, std::size_t size) {
    if (Status status = planned(Call::post); !status.ok()) return status;
    const std::lock_guard lock(mutex);
    for (Request& request : requests_) {
      if (request.busy) continue;
      request = Request{true, false, false, static_cast<std::byte*>(const_cast<void*>(data)), size};
      queue().push_back(&request);
      channel_->match();
      return &request;
    }
    return nullptr;
  }

 private:
  void withdraw_all() {
    const std::lock_guard lock(mutex);
    queue().clear();
  }

  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<Channel> channel_;
  std::array<Request, kRequestsPerStream> requests_;
};

class FakeSend final : public FakeStream<SendStream> {
 public:
  using FakeStream::FakeStream;
  Result<Request*> post(const void* data, std::size_t size, std::uint64_t, std::uint64_t) override {
    return enqueue(data, size);
  }
  void expedite(std::uint64_t) override {}
};

class FakeRecv final : public FakeStream<RecvStream> {
 public:
  using FakeStream::FakeStream;
  Result<Request*> post(void* data, std::size_t capacity, Reading reading) override {
    counters().last_reading = reading;
    return enqueue(data, capacity);
  }
};

constexpr std::uint64_t kMagic = 0x4548414b45574152;
std::uint64_t last_listener = 0;
std::map<std::uint64_t, std::deque<std::shared_ptr<Channel>>> waiting;  // by listener

class FakeListener final : public Listener {
 public:
  FakeListener(std::shared_ptr<Engine> engine, std::uint64_t id) : engine_(std::move(engine)), id_(id) {
    ++counters().listeners;
  }
  ~FakeListener() override { --counters().listeners; }

  Result<std::unique_ptr<RecvStream>> accept() override {
    if (Status status = planned(Call::accept); !status.ok()) return status;
    const std::lock_guard lock(mutex);
    auto& queue = waiting[id_];
    if (queue.empty()) return std::unique_ptr<RecvStream>();
    std::unique_ptr<RecvStream> stream = std::make_unique<FakeRecv>(engine_, queue.front());
    queue.pop_front();
    return stream;
  }

 private:
  const std::shared_ptr<Engine> engine_;
  const std::uint64_t id_;
};

class FakeConnector final : public Connector {
 public:
  FakeConnector(std::shared_ptr<Engine> engine, std::uint64_t listener)
      : engine_(std::move(engine)), listener_(listener) {
    ++counters().connectors;
  }
  ~FakeConnector() override { --counters().connectors; }

  Result<std::unique_ptr<SendStream>> poll() override {
    if (Status status = planned(Call::poll); !status.ok()) return status;
    if (++polls_ < 3) return std::unique_ptr<SendStream>();
    const std::lock_guard lock(mutex);
    auto channel = std::make_shared<Channel>();
    waiting[listener_].push_back(channel);
    return std::unique_ptr<SendStream>(std::make_unique<FakeSend>(engine_, channel));
  }

 private:
  const std::shared_ptr<Engine> engine_;
  const std::uint64_t listener_;
  int polls_ = 0;
};

class FakeEngine final : public Engine, public std::enable_shared_from_this<FakeEngine> {
 public:
  FakeEngine() {
    ++counters().engines;
    for (int i = 0; i < 2; ++i) {
      Rail& rail = rails_.emplace_back();
      rail.name = "rail" + std::to_string(i);
      rail.speed = Rate::from_megabits(10000);
    }
    devices_ = {{"all", {0, 1}, Rate::from_megabits(20000), "/sys/devices/pci0000:00/0000:00:03.0", 1},
                {"rail1", {1}, Rate::from_megabits(10000), "", 2}};
  }
  ~FakeEngine() override { --counters().engines; }

  const std::vector<Rail>& rails() const override { return rails_; }
  const std::vector<Device>& devices() const override { return devices_; }
  bool shares_memory() const override { return false; }
  EngineStats stats() const override { return {}; }

  Result<std::unique_ptr<Listener>> listen(int, Handle& handle) override {
    if (Status status = planned(Call::listen); !status.ok()) return status;
    const std::lock_guard lock(mutex);
    const std::uint64_t words[2] = {kMagic, ++last_listener};
    handle = {};
    std::memcpy(handle.data(), words, sizeof words);
    return std::unique_ptr<Listener>(std::make_unique<FakeListener>(shared_from_this(), last_listener));
  }

  Result<std::unique_ptr<Connector>> connect(int, const Handle& handle, int traffic_class, Priority) override {
    counters().last_traffic_class = traffic_class;
    if (Status status = planned(Call::connect); !status.ok()) return status;
    std::uint64_t words[2];
    std::memcpy(words, handle.data(), sizeof words);
    if (words[0] != kMagic) return Status(Code::invalid_argument, Scope::stream, "not a handle of the fake engine");
    return std::unique_ptr<Connector>(std::make_unique<FakeConnector>(shared_from_this(), words[1]));
  }

 private:
  std::vector<Rail> rails_;
  std::vector<Device> devices_;
};

}  // namespace

Counters& counters() {
  static Counters counters;
  return counters;
}

void fail_next(Call call, Status status) {
  const std::lock_guard lock(mutex);
  planned_failures[call] = std::move(status);
}

void throw_next(Call call) {
  const std::lock_guard lock(mutex);
  planned_throws[call] = true;
}

void run_at_next(Call call, std::function<void()> first) {
  const std::lock_guard lock(mutex);
  planned_runs[call] = std::move(first);
}

}  // namespace fake

Result<std::shared_ptr<Engine>> Engine::start(const Config&) {
  if (Status status = fake::planned(fake::Call::start); !status.ok()) return status;
  return std::shared_ptr<Engine>(std::make_shared<fake::FakeEngine>());
}

}  // namespace railweave
