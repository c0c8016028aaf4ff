#include "tests/nccl/flow.h"

#include <cstring>
#include <utility>

#include "tests/nccl/failure.h"
#include "tests/nccl/pattern.h"

namespace railweave::nccl_test {

SlottedFlow::SlottedFlow(Net& net, const Scenario& scenario, std::uint32_t comm)
    : net_(net), scenario_(scenario), comm_(comm), memory_(scenario.slot_bytes * std::size_t(scenario.depth)) {}

void SlottedFlow::register_memory() {
  expect_success(net_.reg_mr(net_comm_, memory_.data(), memory_.size(), abi::kPtrHost, &mhandle_), "regMr");
  if (!mhandle_) throw Failure("regMr gave no mhandle");
}

void SlottedFlow::deregister_memory() {
  if (void* const mhandle = std::exchange(mhandle_, nullptr))
    expect_success(net_.dereg_mr(net_comm_, mhandle), "deregMr");
}

std::string SlottedFlow::label(std::uint64_t message) const {
  return std::string(kind()) + " comm " + std::to_string(comm_) + " message " + std::to_string(message);
}

std::string SlottedFlow::state() const {
  return std::string(kind()) + " comm " + std::to_string(comm_) + ": posted " + std::to_string(posted_) + ", done " +
         std::to_string(done_) + " of " + std::to_string(scenario_.messages) + ", told to come later " +
         std::to_string(refused_) + " times";
}

void SlottedFlow::post_window() {
  while (posted_ < scenario_.messages && posted_ < done_ + std::uint64_t(scenario_.depth)) {
    void* const request = post(posted_);
    if (!request) {
      ++refused_;
      break;
    }
    requests_.push_back(request);
    ++posted_;
  }
}

bool SlottedFlow::advance() {
  post_window();
  test_oldest();
  return done_ == scenario_.messages;
}

void SlottedFlow::test_oldest() {
  if (requests_.empty()) return;
  int done = -1, size = -1;
  expect_success(net_.test(requests_.front(), &done, &size), "test of " + label(done_));
  if (done != 1) return;
  requests_.pop_front();
  finish(done_++, size);
}

void* SendFlow::post(std::uint64_t message) {
  const std::size_t size = scenario_.size_of(comm_, message);
  fill_pattern(slot(message).first(size), comm_, message);
  void* request = nullptr;
  expect_success(net_.isend(net_comm_, slot(message).data(), size, mhandle_, &request), "isend of " + label(message));
  return request;
}

void SendFlow::finish(std::uint64_t message, int) {
  std::memset(slot(message).data(), 0xD0 + int(message % 16), slot(message).size());
}

RecvFlow::RecvFlow(Net& net, const Scenario& scenario, std::uint32_t comm) : SlottedFlow(net, scenario, comm) {
  std::memset(memory().data(), int(kPoison), memory().size());
}

void* RecvFlow::post(std::uint64_t message) {
  void* request = scenario_.optional_completion ? reinterpret_cast<void*>(abi::kOptionalRecvCompletion) : nullptr;
  const auto place = slot(message);
  expect_success(net_.irecv(net_comm_, 1, place.data(), place.size(), mhandle_, &request),
                 "irecv of " + label(message));
  if (request == reinterpret_cast<void*>(abi::kOptionalRecvCompletion))
    throw Failure("irecv left 0x1 in *request: " + label(message));
  return request;
}

void RecvFlow::finish(std::uint64_t message, int size) {
  const std::size_t expected = scenario_.size_of(comm_, message);
  if (size < 0 || std::size_t(size) != expected)
    throw Failure(label(message) + ": test gave size " + std::to_string(size) + ", sent were " +
                  std::to_string(expected));
  const auto place = slot(message);
  if (const auto error = pattern_error(place.first(expected), comm_, message))
    throw Failure(label(message) + " " + *error);
  if (!all_poison(place.subspan(expected))) throw Failure(label(message) + ": bytes behind the message were written");
  std::memset(place.data(), int(kPoison), expected);
}

}  // namespace railweave::nccl_test
