// What is kept of one operation for dumps (dumps.h): a plain value of a fixed size, so that keeping it costs a copy.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::torch_ext {

// Sizes and dtypes of an operation's tensors: of the first kTensorsMost, as far as kSizesMost sizes reach.
class TensorShapes {
 public:
  static constexpr std::size_t kTensorsMost = 4, kSizesMost = 12;
  void add(const at::Tensor& tensor);
  std::size_t kept() const { return kept_; }
  std::size_t tensors() const { return tensors_; }  // added in all
  // --- REQUIRES: i < kept()
  std::span<const std::int64_t> sizes(std::size_t i) const;
  at::ScalarType dtype(std::size_t i) const { return at::ScalarType(dtypes_[i]); }

 private:
  std::array<std::int64_t, kSizesMost> sizes_{};
  std::array<std::uint8_t, kTensorsMost> ends_{};  // in sizes_
  std::array<std::int8_t, kTensorsMost> dtypes_{};
  std::uint8_t kept_ = 0;
  std::uint32_t tensors_ = 0;
};

struct OperationRecord {
  static constexpr int kNoPeer = -2;

  const char* title = "";         // "railweave:all_reduce"
  std::uint64_t id = 0;           // among all operations of the group at this rank, from 1
  std::uint64_t collectives = 0;  // called so far in the group, this operation included
  std::uint64_t messages = 0;     // sent and received so far in the group, this operation included
  int peer = kNoPeer;             // of a message: rank of the group, or kAnySource; kNoPeer: not a message
  TimePoint called{};             // CLOCK_MONOTONIC
  TimePoint over{};               // TimePoint{}: not over
  Code outcome = Code::ok;        // once over
  std::int64_t timeout_ms = 0;    // 0 or less: none
  TensorShapes inputs, outputs;

  bool is_message() const { return peer != kNoPeer; }
};

}  // namespace railweave::torch_ext
