#include "fake_network.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

namespace railweave {

class Request {
 public:
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t bytes = 0;  // of a receive: its capacity, then the size of its message
  std::uint64_t done_at = ~0ull;
  std::uint64_t tag = 0;
};

}  // namespace railweave

namespace railweave::collectives_test {
namespace {

// One direction of a stream.
struct Pipe {
  std::deque<Request*> sends, receives;  // unmatched
  FakeNetwork::Orders orders;
};

// A message that is matched and has not landed. Neither of its requests is done, so the network may still use their
// memory.
struct Flight {
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t bytes = 0;
};

}  // namespace

struct FakeNetwork::State {
  State(std::uint64_t seed, std::uint64_t most) : delay_most(most), random(seed) {}
  const std::uint64_t delay_most;
  std::uint64_t now = 0;
  std::mt19937_64 random;
  std::vector<std::deque<std::shared_ptr<Pipe>>> arrivals;  // by listener
  std::vector<std::shared_ptr<const Pipe>> pipes;
  std::map<std::uint64_t, std::vector<Flight>> flights;  // by time of landing
  std::uint64_t soon() { return now + 1 + random() % delay_most; }

  void match(Pipe& pipe) {
    while (!pipe.sends.empty() && !pipe.receives.empty()) {
      Request &s = *pipe.sends.front(), &r = *pipe.receives.front();
      pipe.sends.pop_front();
      pipe.receives.pop_front();
      r.bytes = std::min(r.bytes, s.bytes);
      r.tag = s.tag;
      s.done_at = soon();
      r.done_at = soon();
      if (r.bytes > 0) send_off(s, r);
    }
  }

  // Copies the message at a random time until one of its requests is done. Until then no byte of the target is right,
  // and a byte that is written to the source may be sent.
  void send_off(const Request& s, const Request& r) {
    const auto* const from = static_cast<const std::uint8_t*>(s.source);
    auto* const to = static_cast<std::uint8_t*>(r.target);
    for (std::size_t i = 0; i < r.bytes; ++i) to[i] = std::uint8_t(~from[i]);
    const std::uint64_t most = std::min(s.done_at, r.done_at) - now;
    flights[now + 1 + random() % most].push_back({s.source, r.target, r.bytes});
  }

  // Messages land before any request of the same time is done.
  void step() {
    ++now;
    const auto landed = flights.find(now);
    if (landed == flights.end()) return;
    for (const Flight& f : landed->second) std::memcpy(f.target, f.source, f.bytes);
    flights.erase(landed);
  }
};

namespace {

using State = FakeNetwork::State;

template <class Face>
class FakeEnd : public Face {
 public:
  FakeEnd(std::shared_ptr<State> state, std::shared_ptr<Pipe> pipe)
      : state_(std::move(state)), pipe_(std::move(pipe)) {}
  bool ended(const Request* r) const override { return r->done_at <= state_->now; }
  Result<Progress> test(Request* r) override {
    if (!ended(r)) return Progress{};
    const Progress progress{true, r->bytes, r->tag};
    std::erase_if(requests_, [&](const auto& own) { return own.get() == r; });
    return progress;
  }
  void withdraw(const void*, std::size_t) override {}

 protected:
  Request* add(const void* source, void* target, std::size_t bytes, std::deque<Request*>& queue,
               std::uint64_t tag = 0) {
    if (requests_.size() >= kRequestsPerStream || state_->random() % 16 == 0) return nullptr;
    requests_.push_back(std::make_unique<Request>());
    *requests_.back() = {source, target, bytes, ~0ull, tag};
    queue.push_back(requests_.back().get());
    state_->match(*pipe_);
    return requests_.back().get();
  }
  const std::shared_ptr<State> state_;
  const std::shared_ptr<Pipe> pipe_;

 private:
  std::vector<std::unique_ptr<Request>> requests_;
};

class FakeSend final : public FakeEnd<SendStream> {
 public:
  using FakeEnd::FakeEnd;
  Result<Request*> post(const void* data, std::size_t size, std::uint64_t tag, std::uint64_t order) override {
    Request* const request = add(data, nullptr, size, pipe_->sends, tag);
    if (request != nullptr) pipe_->orders.posted.push_back(order);
    return request;
  }
  void expedite(std::uint64_t order) override { pipe_->orders.expedited.push_back(order); }
};

class FakeRecv final : public FakeEnd<RecvStream> {
 public:
  using FakeEnd::FakeEnd;
  Result<Request*> post(void* data, std::size_t capacity, Reading) override {
    return add(nullptr, data, capacity, pipe_->receives);
  }
};

class FakeListener final : public Listener {
 public:
  FakeListener(std::shared_ptr<State> state, std::uint32_t id) : state_(std::move(state)), id_(id) {}
  Result<std::unique_ptr<RecvStream>> accept() override {
    auto& queue = state_->arrivals[id_];
    if (queue.empty() || state_->random() % 4 == 0) return std::unique_ptr<RecvStream>();
    auto pipe = queue.front();
    queue.pop_front();
    return std::unique_ptr<RecvStream>(std::make_unique<FakeRecv>(state_, pipe));
  }

 private:
  const std::shared_ptr<State> state_;
  const std::uint32_t id_;
};

class FakeConnector final : public Connector {
 public:
  FakeConnector(std::shared_ptr<State> state, std::uint32_t id)
      : state_(std::move(state)), id_(id), at_(state_->soon()) {}
  Result<std::unique_ptr<SendStream>> poll() override {
    if (state_->now < at_) return std::unique_ptr<SendStream>();
    auto pipe = std::make_shared<Pipe>();
    state_->pipes.push_back(pipe);
    state_->arrivals[id_].push_back(pipe);
    return std::unique_ptr<SendStream>(std::make_unique<FakeSend>(state_, pipe));
  }

 private:
  const std::shared_ptr<State> state_;
  const std::uint32_t id_;
  const std::uint64_t at_;
};

class FakeEngine final : public Engine {
 public:
  explicit FakeEngine(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::vector<Rail>& rails() const override { return rails_; }
  const std::vector<Device>& devices() const override { return devices_; }
  bool shares_memory() const override { return false; }
  Result<std::unique_ptr<Listener>> listen(int, Handle& handle) override {
    const auto id = std::uint32_t(state_->arrivals.size());
    state_->arrivals.emplace_back();
    std::memcpy(handle.data(), &id, sizeof id);
    return std::unique_ptr<Listener>(std::make_unique<FakeListener>(state_, id));
  }
  Result<std::unique_ptr<Connector>> connect(int, const Handle& handle, int, Priority) override {
    std::uint32_t id = 0;
    std::memcpy(&id, handle.data(), sizeof id);
    return std::unique_ptr<Connector>(std::make_unique<FakeConnector>(state_, id));
  }
  EngineStats stats() const override { return {}; }

 private:
  const std::shared_ptr<State> state_;
  std::vector<Rail> rails_;
  std::vector<Device> devices_;
};

}  // namespace

FakeNetwork::FakeNetwork(std::uint64_t seed, std::uint64_t delay_most)
    : state_(std::make_shared<State>(seed, delay_most)) {}
FakeNetwork::~FakeNetwork() = default;
std::shared_ptr<Engine> FakeNetwork::engine() { return std::make_shared<FakeEngine>(state_); }
std::vector<FakeNetwork::Orders> FakeNetwork::orders() const {
  std::vector<Orders> all;
  for (const auto& pipe : state_->pipes) all.push_back(pipe->orders);
  return all;
}
void FakeNetwork::step() { state_->step(); }

}  // namespace railweave::collectives_test
