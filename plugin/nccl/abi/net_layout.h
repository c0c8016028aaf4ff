// Asserts that the layouts of net.h are those of NCCL's binaries on 64-bit machines.
#pragma once

#include "nccl/abi/net.h"

namespace railweave::nccl::abi {

static_assert(sizeof(void*) == 8 && sizeof(int) == 4 && sizeof(float) == 4, "NCCL knows 64-bit machines only");
static_assert(sizeof(CommConfig) == 4 && sizeof(NetAttr) == 44 && sizeof(DeviceHandle) == 32);
static_assert(sizeof(VDeviceProps<4>) == 20 && sizeof(VDeviceProps<8>) == 36);

static_assert(sizeof(PropertiesV6) == 48 && sizeof(PropertiesV7) == 56 && sizeof(PropertiesV8) == 64);
static_assert(sizeof(PropertiesV9) == 104 && sizeof(PropertiesV11) == 112 && sizeof(PropertiesV12) == 128);
static_assert(sizeof(NetV6) == 136 && sizeof(NetV7) == 152 && sizeof(NetV8) == 152 && sizeof(NetV9) == 160);
static_assert(sizeof(NetV10) == 160 && sizeof(NetV11) == 176 && sizeof(NetV12) == 176);

static_assert(offsetof(PropertiesV6, speed) == 28 && offsetof(PropertiesV6, maxRecvs) == 44);
static_assert(offsetof(PropertiesV7, speed) == 28 && offsetof(PropertiesV7, netDeviceType) == 48);
static_assert(offsetof(PropertiesV8, regIsGlobal) == 28 && offsetof(PropertiesV8, netDeviceVersion) == 56);
static_assert(offsetof(PropertiesV9, vProps) == 64 && offsetof(PropertiesV9, maxCollBytes) == 96);

#define RW_SAME_HEAD(P)                                                                                             \
  static_assert(offsetof(P, name) == 0 && offsetof(P, pciPath) == 8 && offsetof(P, guid) == 16 &&                   \
                offsetof(P, ptrSupport) == 24 && offsetof(P, regIsGlobal) == 28 && offsetof(P, forceFlush) == 32 && \
                offsetof(P, speed) == 36 && offsetof(P, port) == 40 && offsetof(P, latency) == 44 &&                \
                offsetof(P, maxComms) == 48 && offsetof(P, maxRecvs) == 52 && offsetof(P, netDeviceType) == 56 &&   \
                offsetof(P, netDeviceVersion) == 60 && offsetof(P, vProps) == 64)
RW_SAME_HEAD(PropertiesV9);
RW_SAME_HEAD(PropertiesV11);
RW_SAME_HEAD(PropertiesV12);
#undef RW_SAME_HEAD

static_assert(offsetof(PropertiesV11, maxP2pBytes) == 88 && offsetof(PropertiesV11, maxCollBytes) == 96 &&
              offsetof(PropertiesV11, maxMultiRequestSize) == 104);
static_assert(offsetof(PropertiesV12, maxP2pBytes) == 104 && offsetof(PropertiesV12, maxCollBytes) == 112 &&
              offsetof(PropertiesV12, maxMultiRequestSize) == 120 && offsetof(PropertiesV12, railId) == 124 &&
              offsetof(PropertiesV12, planeId) == 126);

static_assert(offsetof(NetV6, closeListen) == 16 * 8);
static_assert(offsetof(NetV8, irecvConsumed) == 18 * 8);
static_assert(offsetof(NetV10, makeVDevice) == 19 * 8 && offsetof(NetV10, isend) == 10 * 8);
static_assert(offsetof(NetV11, test) == 13 * 8 && offsetof(NetV11, finalize) == 20 * 8 &&
              offsetof(NetV11, setNetAttr) == 21 * 8);

static_assert(std::is_standard_layout_v<NetV12> && std::is_trivial_v<NetV12> &&
              std::is_standard_layout_v<PropertiesV12>);

}  // namespace railweave::nccl::abi
