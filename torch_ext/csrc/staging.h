// A device whose tensors go through the host. Copy engines make the copies both ways, on streams that only staging
// uses.
//
// Threads: any. Errors: torch's exceptions. No call here waits for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace railweave::torch_ext {

using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;  // to, from

// A point in the work queued on a stream.
class Mark {
 public:
  virtual ~Mark() = default;
  // Returns true if the stream has reached the mark. Does not wait.
  virtual bool passed() = 0;
  // Makes all later work on the thread's current stream wait for the mark.
  virtual void hold_current_stream() = 0;
};
using MarkPtr = std::shared_ptr<Mark>;

enum class Way { to_host, to_device };

class StagedDevice {
 public:
  virtual ~StagedDevice() = default;
  // Allocates pinned memory of the host, which copy engines can access.
  virtual at::Tensor room(std::int64_t elements, at::ScalarType type) = 0;
  // Marks the end of the work queued so far on the thread's current stream. Throws if the stream is being captured into
  // a graph.
  virtual MarkPtr mark() = 0;
  // Queues copies on the stream of this direction, after `begin`; returns the mark of their end. The tensors' memory
  // stays valid until then, even if all references are dropped.
  virtual MarkPtr copy(Way way, Mark& begin, const Copies& copies) = 0;
  // Calls `call` with the stream to the device as the thread's current stream.
  virtual void on_stream_to_device(const std::function<void()>& call) = 0;
};

// Returns the device's only instance in this process, which is never destroyed. Null if tensors of `device` need no
// staging, or torch has no such device.
StagedDevice* staged_device(at::Device device);

}  // namespace railweave::torch_ext
