// Describes a device to NCCL. Sets every member that the version's properties have.
#pragma once

#include <algorithm>
#include <climits>

#include "nccl/abi/net.h"
#include "nccl/library.h"

namespace railweave::nccl {

// Microseconds. NCCL adds the integer part to its cost model, once (LL) or twice (Simple) per hop; NCCL's own constants
// assume InfiniBand.
inline constexpr float kReportedLatencyUs = 20;
inline constexpr int kReportedMaxComms = 1 << 20;
inline constexpr int kUndefinedNetId = -1;

// `index`: of the device. `p` refers to strings that live as long as the process.
template <class Properties>
void describe(const Device& device, int index, Properties& p) {
  Library& library = Library::get();
  p = Properties{};
  p.name = library.keep(device.name);
  p.pciPath = device.pci_path.empty() ? nullptr : library.keep(device.pci_path);
  p.guid = device.guid;
  p.ptrSupport = abi::kPtrHost;
  p.speed = int(std::clamp(device.speed.megabits() + 0.5, 1.0, double(INT_MAX)));
  p.port = 0;
  p.latency = kReportedLatencyUs;
  p.maxComms = kReportedMaxComms;
  p.maxRecvs = 1;
  if constexpr (requires { p.regIsGlobal; }) p.regIsGlobal = 0;
  if constexpr (requires { p.forceFlush; }) p.forceFlush = 0;
  if constexpr (requires { p.netDeviceType; }) {
    p.netDeviceType = abi::kNetDeviceHost;
    p.netDeviceVersion = 0;
  }
  if constexpr (requires { p.vProps; }) {
    p.vProps.ndevs = 1;
    p.vProps.devs[0] = index;
  }
  if constexpr (requires { p.maxP2pBytes; }) p.maxP2pBytes = p.maxCollBytes = abi::kMaxMessageBytes;
  if constexpr (requires { p.maxMultiRequestSize; }) p.maxMultiRequestSize = 1;
  if constexpr (requires { p.railId; }) p.railId = p.planeId = kUndefinedNetId;
}

}  // namespace railweave::nccl
