// A device whose tensors go through the host: its copies there and back, by copy engines, on streams of its own.
//
// Threads: any. Errors: torch's exceptions. Nothing here waits for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace railweave::torch_ext {

using Copies = std::vector<std::pair<at::Tensor, at::Tensor>>;  // to, from

// A place in what a stream was given to do.
class Mark {
 public:
  virtual ~Mark() = default;
  virtual bool passed() = 0;
  // What the thread's current stream is given from now on comes after it.
  virtual void hold_current_stream() = 0;
};
using MarkPtr = std::shared_ptr<Mark>;

enum class Way { to_host, to_device };

class StagedDevice {
 public:
  virtual ~StagedDevice() = default;
  // Memory of the host's that copy engines reach.
  virtual at::Tensor room(std::int64_t elements, at::ScalarType type) = 0;
  // The end of what the thread's current stream was given so far. Throws where that stream is captured into a graph.
  virtual MarkPtr mark() = 0;
  // Gives the stream of that way these copies, after `begin`; answers their end. The tensors' memory lasts so long,
  // whoever drops them.
  virtual MarkPtr copy(Way way, Mark& begin, const Copies& copies) = 0;
  // Calls `call` with the stream to the device as the thread's current one.
  virtual void on_stream_to_device(const std::function<void()>& call) = 0;
};

// One per device and process, never destroyed; null where tensors of `device` need no staging, or torch has no such
// device.
StagedDevice* staged_device(at::Device device);

}  // namespace railweave::torch_ext
