#include "tests/nccl/rank.h"

#include <array>
#include <chrono>
#include <cstring>

#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"

namespace railweave::nccl_test {
namespace {

using HandleBytes = std::array<char, abi::kHandleMaxBytes>;

}  // namespace

Rank::Rank(Net& net, Scenario scenario, int number) : net_(net), scenario_(std::move(scenario)) {
  expect_success(net_.init(&context_, abi::kTrafficClassUndefined, capture_log), "init");
  int devices = 0;
  expect_success(net_.devices(&devices), "devices");
  if (devices < 1) throw Failure("no devices");
  const auto comms = std::uint32_t(scenario_.comms);
  for (std::uint32_t i = 0; i < comms; ++i) {
    // Both ends number the comms alike: those on which rank 0 sends come first.
    if (number == 0 || scenario_.both_ways)
      sends_.push_back(std::make_unique<SendFlow>(net_, scenario_, number == 0 ? i : comms + i));
    if (number == 1 || scenario_.both_ways)
      receives_.push_back(std::make_unique<RecvFlow>(net_, scenario_, number == 1 ? i : comms + i));
  }
}

Rank::~Rank() {
  progress_.reset();
  try {
    if (!closed_) close();
  } catch (const Failure&) {
    // An abort reports no errors.
  }
}

std::string Rank::listen_for_all() {
  std::string handles;
  service_.call([&] {
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      HandleBytes handle{};
      void* comm = nullptr;
      expect_success(net_.listen(context_, 0, handle.data(), &comm), "listen");
      if (!comm) throw Failure("listen gave no comm");
      listeners_.push_back(comm);
      handles.append(handle.data(), handle.size());
    }
  });
  return handles;
}

void Rank::connect_all(const std::string& handles) {
  std::vector<std::future<void>> pending;
  auto given = std::make_shared<std::vector<HandleBytes>>(sends_.size());
  for (std::size_t i = 0; i < sends_.size(); ++i) {
    std::memcpy((*given)[i].data(), &handles.at(i * abi::kHandleMaxBytes), abi::kHandleMaxBytes);
    pending.push_back(service_.until([this, i, given] {
      void* comm = nullptr;
      expect_success(net_.connect(context_, 0, abi::kTrafficClassUndefined, (*given)[i].data(), &comm), "connect");
      sends_[i]->attach(comm);
      return comm != nullptr;
    }));
  }
  for (std::size_t i = 0; i < receives_.size(); ++i) {
    pending.push_back(service_.until([this, i] {
      void* comm = nullptr;
      expect_success(net_.accept(listeners_[i], &comm), "accept");
      if (!comm) return false;
      receives_[i]->attach(comm);
      expect_success(net_.close_listen(listeners_[i]), "closeListen");
      return true;
    }));
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(scenario_.timeout_s);
  for (auto& each : pending)
    if (each.wait_until(until) != std::future_status::ready) throw Failure("connect or accept did not end");
  for (auto& each : pending) each.get();
}

void Rank::connect(Channel& to_peer) {
  connect_all(to_peer.exchange(listen_for_all()));
  service_.call([&] {
    for (auto& flow : sends_) flow->register_memory();
    for (auto& flow : receives_) flow->register_memory();
  });
}

void Rank::start() {
  std::vector<Flow*> flows;
  for (auto& flow : receives_) flows.push_back(flow.get());
  for (auto& flow : sends_) flows.push_back(flow.get());
  progress_->start(flows);
}

void Rank::wait() { progress_->wait(scenario_.timeout_s); }

void Rank::close() {
  closed_ = true;
  progress_.reset();
  service_.call([&] {
    const auto end = [&](auto& flows, auto close_comm) {
      for (auto& flow : flows) {
        void* const comm = flow->net_comm();
        if (comm) flow->deregister_memory();
        flow.reset();  // frees the memory before the comm closes
        if (comm) expect_success(close_comm(comm), "close");
      }
      flows.clear();
    };
    end(sends_, [&](void* comm) { return net_.close_send(comm); });
    end(receives_, [&](void* comm) { return net_.close_recv(comm); });
  });
  expect_success(net_.finalize(context_), "finalize");
}

void abort_promptly(Rank& rank) {
  using std::chrono::milliseconds, std::chrono::steady_clock;
  // An engine that leaves waits for a second, and the machine may be busy.
  constexpr milliseconds kTakingBackMost{1500}, kClosingMost{3000};
  const auto begin = steady_clock::now();
  const auto take_back = [](SlottedFlow& flow) {
    if (flow.outstanding() == 0) throw Failure("nothing is outstanding: " + flow.state());
    flow.deregister_memory();
    flow.memory().forbid();  // a later access, by a thread or the kernel, fails
  };
  for (auto& flow : rank.sends()) take_back(*flow);
  for (auto& flow : rank.receives()) take_back(*flow);
  const auto taken_back = steady_clock::now();
  rank.close();
  const auto within = [](const char* what, auto took, milliseconds most) {
    const auto took_ms = std::chrono::duration_cast<milliseconds>(took).count();
    if (took > most) throw Failure(std::string(what) + " took " + std::to_string(took_ms) + " ms");
  };
  within("deregMr", taken_back - begin, kTakingBackMost);
  within("close", steady_clock::now() - taken_back, kClosingMost);
}

void run_rank(Net& net, const Scenario& scenario, int number, Channel& to_peer) {
  Rank rank(net, scenario, number);
  rank.connect(to_peer);
  rank.run();
  to_peer.barrier();
  rank.close();
}

}  // namespace railweave::nccl_test
