// One comm, driven as by NCCL's progress thread: a ring of slots, at most as many requests as slots, and only the
// oldest request is tested. Checks every byte, and overwrites a slot as soon as its request is done.
#pragma once

#include <deque>

#include "tests/nccl/buffer.h"
#include "tests/nccl/library.h"
#include "tests/nccl/proxy.h"
#include "tests/nccl/scenario.h"

namespace railweave::nccl_test {

// The base of both directions. `comm`: number of the flow, the same at both ends, and part of the contents.
class SlottedFlow : public Flow {
 public:
  SlottedFlow(Net& net, const Scenario& scenario, std::uint32_t comm);
  ~SlottedFlow() override = default;

  void attach(void* net_comm) { net_comm_ = net_comm; }  // call before register_memory()
  void* net_comm() const { return net_comm_; }
  void register_memory();
  void deregister_memory();
  Buffer& memory() { return memory_; }

  std::uint64_t posted() const { return posted_; }
  std::uint64_t done() const { return done_; }
  std::size_t outstanding() const { return requests_.size(); }

  // Posts as many messages as the window and the plugin allow.
  void post_window();
  bool advance() override;
  std::string state() const override;

 protected:
  virtual const char* kind() const = 0;
  // Returns null if the plugin had no room.
  virtual void* post(std::uint64_t message) = 0;
  virtual void finish(std::uint64_t message, int size) = 0;

  std::span<std::byte> slot(std::uint64_t message) const {
    return memory_.span(message % std::uint64_t(scenario_.depth) * scenario_.slot_bytes, scenario_.slot_bytes);
  }
  std::string label(std::uint64_t message) const;

  Net& net_;
  const Scenario scenario_;
  const std::uint32_t comm_;
  void* net_comm_ = nullptr;
  void* mhandle_ = nullptr;

 private:
  void test_oldest();

  Buffer memory_;
  std::deque<void*> requests_;
  std::uint64_t posted_ = 0, done_ = 0, refused_ = 0;
};

class SendFlow final : public SlottedFlow {
 public:
  using SlottedFlow::SlottedFlow;

 private:
  const char* kind() const override { return "send"; }
  void* post(std::uint64_t message) override;
  void finish(std::uint64_t message, int size) override;
};

class RecvFlow final : public SlottedFlow {
 public:
  RecvFlow(Net& net, const Scenario& scenario, std::uint32_t comm);

 private:
  const char* kind() const override { return "recv"; }
  void* post(std::uint64_t message) override;
  void finish(std::uint64_t message, int size) override;
};

}  // namespace railweave::nccl_test
