// CUDA devices, through torch's device-generic interface only. So a library built against a CPU torch also serves a
// CUDA torch.
#include "torch_ext/csrc/staging.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <map>

#include "base/mutex.h"

namespace railweave::torch_ext {
namespace {

class EventMark final : public Mark {
 public:
  explicit EventMark(const c10::Stream& stream) : event_(stream.device_type()), device_(stream.device()) {
    event_.record(stream);
  }
  bool passed() override { return event_.query(); }
  void hold_current_stream() override { event_.block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_)); }

 private:
  c10::Event event_;
  const c10::Device device_;
};

class GuardedDevice final : public StagedDevice {
 public:
  explicit GuardedDevice(at::Device device)
      : guard_(device.type()),
        device_(device),
        to_host_(guard_.getStreamFromGlobalPool(device, true)),
        to_device_(guard_.getStreamFromGlobalPool(device, true)) {}

  at::Tensor room(std::int64_t elements, at::ScalarType type) override {
    return at::empty({elements}, at::TensorOptions(type).device(at::kCPU).pinned_memory(true));
  }

  MarkPtr mark() override {
    const c10::Stream stream = guard_.getStream(device_);
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 12
    TORCH_CHECK(!guard_.isStreamCapturing(stream), "railweave: operations need the host, so a CUDA graph of ", device_,
                " cannot capture them");
#endif
    return std::make_shared<EventMark>(stream);
  }

  MarkPtr copy(Way way, Mark& begin, const Copies& copies) override {
    const c10::Stream stream = way == Way::to_host ? to_host_ : to_device_;
    const c10::StreamGuard on(stream);
    const at::NoGradGuard no_grad;
    begin.hold_current_stream();
    for (const auto& [to, from] : copies) {
      to.copy_(from, true);
      // The copy itself informs the allocator of pinned memory about the host's side.
      guard_.recordDataPtrOnStream((way == Way::to_host ? from : to).storage().data_ptr(), stream);
    }
    return std::make_shared<EventMark>(stream);
  }

  void on_stream_to_device(const std::function<void()>& call) override {
    const c10::StreamGuard on(to_device_);
    call();
  }

 private:
  const c10::impl::VirtualGuardImpl guard_;
  const c10::Device device_;
  const c10::Stream to_host_, to_device_;
};

struct KnownDevices {
  Mutex mutex;
  std::map<c10::DeviceIndex, std::unique_ptr<GuardedDevice>> devices RW_GUARDED_BY(mutex);
};

}  // namespace

StagedDevice* staged_device(at::Device device) {
  if (!device.is_cuda() || !c10::impl::hasDeviceGuardImpl(device.type())) return nullptr;
  static KnownDevices* const known = new KnownDevices;
  const MutexLock lock(known->mutex);
  auto& found = known->devices[device.index()];
  if (!found) found = std::make_unique<GuardedDevice>(device);
  return found.get();
}

}  // namespace railweave::torch_ext
