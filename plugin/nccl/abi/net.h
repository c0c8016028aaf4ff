// NCCL's net plugin ABI, versions 6 to 12, written anew: the types that cross the C boundary, and no others. Member
// names are NCCL's. Order and offsets are asserted in net_layout.h. Both sides can use this header: the plugin fills
// these tables; tests and perf programs drive any plugin through them. Neither NCCL nor CUDA need be installed.
//
// Tables are plain data symbols ("ncclNetPlugin_v11"), found with dlsym; see Api<N>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace railweave::nccl::abi {

// ncclResult_t.
enum ReturnCode : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,    // a system call failed
  kInternalError = 3,  // misuse of the API, or a bug
  kInvalidArgument = 4,
  kInvalidUsage = 5,  // configuration, or sizes that do not match
  kRemoteError = 6,   // the peer failed
  kInProgress = 7,
};

// ncclDebugLogLevel and the subsystem bits of `flags`.
enum LogLevel : int { kLogNone = 0, kLogVersion = 1, kLogWarn = 2, kLogInfo = 3, kLogAbort = 4, kLogTrace = 5 };
inline constexpr unsigned long kSubsysInit = 0x1, kSubsysNet = 0x10, kSubsysEnv = 0x80, kSubsysAll = ~0ul;

using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line, const char* format, ...);
using ProfilerCallback = ReturnCode (*)(void** event, int type, void* phandle, std::int64_t plugin_id, void* data);

inline constexpr std::size_t kHandleMaxBytes = 128;             // NCCL_NET_HANDLE_MAXSIZE
inline constexpr int kMaxRequests = 32;                         // NCCL_NET_MAX_REQUESTS (v6: 8), in flight per comm
inline constexpr std::size_t kMaxMessageBytes = 1ull << 40;     // NCCL_MAX_NET_SIZE_BYTES, from v9
inline constexpr std::size_t kMaxMessageBytesInt = 1ull << 30;  // MAX_NET_SIZE, where sizes are int
inline constexpr int kPtrHost = 0x1, kPtrCuda = 0x2, kPtrDmaBuf = 0x4;
inline constexpr int kNetDeviceHost = 0, kNetDeviceUnpack = 1;
inline constexpr int kTrafficClassUndefined = -1;

// A value of *request on entry to irecv: the caller detects arrival in the data itself, so completion may come early.
// From v9 on; the shims of older versions clear *request.
inline constexpr std::uintptr_t kOptionalRecvCompletion = 0x1;

struct CommConfig {  // ncclNetCommConfig: an argument of connect in v10, of init from v11
  int trafficClass;
};

template <int MaxDevices>
struct VDeviceProps {  // ncclNetVDeviceProps: the physical devices that make up a device
  int ndevs;
  int devs[MaxDevices];
};

struct DeviceHandle {  // ncclNetDeviceHandle: offload to the GPU; host-only plugins do not set the pointer
  int netDeviceType, netDeviceVersion;
  void* handle;
  std::size_t size;
  int needsProxyProgress;
};

struct CommAttr {
  std::int32_t maxConcurrentPeers, minConcurrentPeers, maxFlowsPerPeer, minFlowsPerPeer;
};

struct NetAttr {  // ncclNetAttr: a hint how the comms will be used (from v11 on)
  CommAttr sendCommAttr, recvCommAttr;
  std::uint32_t op, algo, proto;
};

// Properties. Speed: Mb/s. Latency: µs; NCCL keeps the integer part. NCCL keeps the pointers `name` and `pciPath`. NCCL
// passes uninitialised memory: the plugin must set every member.
struct PropertiesV6 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport, speed, port;
  float latency;
  int maxComms, maxRecvs;
};

struct PropertiesV7 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport, speed, port;
  float latency;
  int maxComms, maxRecvs, netDeviceType, netDeviceVersion;
};

struct PropertiesV8 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, speed, port;
  float latency;
  int maxComms, maxRecvs, netDeviceType, netDeviceVersion;
};

struct PropertiesV9 {  // also v10
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush, speed, port;
  float latency;
  int maxComms, maxRecvs, netDeviceType, netDeviceVersion;
  VDeviceProps<4> vProps;
  std::size_t maxP2pBytes, maxCollBytes;
};

struct PropertiesV11 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush, speed, port;
  float latency;
  int maxComms, maxRecvs, netDeviceType, netDeviceVersion;
  VDeviceProps<4> vProps;
  std::size_t maxP2pBytes, maxCollBytes;
  int maxMultiRequestSize;
};

struct PropertiesV12 {
  char* name;
  char* pciPath;
  std::uint64_t guid;
  int ptrSupport, regIsGlobal, forceFlush, speed, port;
  float latency;
  int maxComms, maxRecvs, netDeviceType, netDeviceVersion;
  VDeviceProps<8> vProps;
  std::size_t maxP2pBytes, maxCollBytes;
  int maxMultiRequestSize;
  std::int16_t railId, planeId;
};

struct NetV6 {
  const char* name;
  ReturnCode (*init)(Logger);
  ReturnCode (*devices)(int* count);
  ReturnCode (*getProperties)(int dev, PropertiesV6*);
  ReturnCode (*listen)(int dev, void* handle, void** listen_comm);
  ReturnCode (*connect)(int dev, void* handle, void** send_comm);
  ReturnCode (*accept)(void* listen_comm, void** recv_comm);
  ReturnCode (*regMr)(void* comm, void* data, int size, int type, void** mhandle);
  ReturnCode (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** mhandle);
  ReturnCode (*deregMr)(void* comm, void* mhandle);
  ReturnCode (*isend)(void* send_comm, void* data, int size, int tag, void* mhandle, void** request);
  ReturnCode (*irecv)(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles, void** request);
  ReturnCode (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request);
  ReturnCode (*test)(void* request, int* done, int* sizes);
  ReturnCode (*closeSend)(void* send_comm);
  ReturnCode (*closeRecv)(void* recv_comm);
  ReturnCode (*closeListen)(void* listen_comm);
};

// Versions 7 and 8: device handles are new; sizes of memory are size_t from 8 on.
template <class Properties, class MemorySize>
struct NetV7V8 {
  const char* name;
  ReturnCode (*init)(Logger);
  ReturnCode (*devices)(int* count);
  ReturnCode (*getProperties)(int dev, Properties*);
  ReturnCode (*listen)(int dev, void* handle, void** listen_comm);
  ReturnCode (*connect)(int dev, void* handle, void** send_comm, DeviceHandle**);
  ReturnCode (*accept)(void* listen_comm, void** recv_comm, DeviceHandle**);
  ReturnCode (*regMr)(void* comm, void* data, MemorySize size, int type, void** mhandle);
  ReturnCode (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** mhandle);
  ReturnCode (*deregMr)(void* comm, void* mhandle);
  ReturnCode (*isend)(void* send_comm, void* data, int size, int tag, void* mhandle, void** request);
  ReturnCode (*irecv)(void* recv_comm, int n, void** data, int* sizes, int* tags, void** mhandles, void** request);
  ReturnCode (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request);
  ReturnCode (*test)(void* request, int* done, int* sizes);
  ReturnCode (*closeSend)(void* send_comm);
  ReturnCode (*closeRecv)(void* recv_comm);
  ReturnCode (*closeListen)(void* listen_comm);
  ReturnCode (*getDeviceMr)(void* comm, void* mhandle, void** device_mhandle);
  ReturnCode (*irecvConsumed)(void* recv_comm, int n, void* request);
};
using NetV7 = NetV7V8<PropertiesV7, int>;
using NetV8 = NetV7V8<PropertiesV8, std::size_t>;

// Version 9: sizes of messages are size_t, and NCCL may ask for a device made of several.
struct NetV9 {
  const char* name;
  ReturnCode (*init)(Logger);
  ReturnCode (*devices)(int* count);
  ReturnCode (*getProperties)(int dev, PropertiesV9*);
  ReturnCode (*listen)(int dev, void* handle, void** listen_comm);
  ReturnCode (*connect)(int dev, void* handle, void** send_comm, DeviceHandle**);
  ReturnCode (*accept)(void* listen_comm, void** recv_comm, DeviceHandle**);
  ReturnCode (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  ReturnCode (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** mhandle);
  ReturnCode (*deregMr)(void* comm, void* mhandle);
  ReturnCode (*isend)(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void** request);
  ReturnCode (*irecv)(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                      void** request);
  ReturnCode (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request);
  ReturnCode (*test)(void* request, int* done, int* sizes);
  ReturnCode (*closeSend)(void* send_comm);
  ReturnCode (*closeRecv)(void* recv_comm);
  ReturnCode (*closeListen)(void* listen_comm);
  ReturnCode (*getDeviceMr)(void* comm, void* mhandle, void** device_mhandle);
  ReturnCode (*irecvConsumed)(void* recv_comm, int n, void* request);
  ReturnCode (*makeVDevice)(int* dev, VDeviceProps<4>*);
};

// Version 10: the profiler's callback, and a traffic class per connect.
struct NetV10 {
  const char* name;
  ReturnCode (*init)(Logger, ProfilerCallback);
  ReturnCode (*devices)(int* count);
  ReturnCode (*getProperties)(int dev, PropertiesV9*);
  ReturnCode (*listen)(int dev, void* handle, void** listen_comm);
  ReturnCode (*connect)(int dev, CommConfig*, void* handle, void** send_comm, DeviceHandle**);
  ReturnCode (*accept)(void* listen_comm, void** recv_comm, DeviceHandle**);
  ReturnCode (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  ReturnCode (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** mhandle);
  ReturnCode (*deregMr)(void* comm, void* mhandle);
  ReturnCode (*isend)(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void* phandle,
                      void** request);
  ReturnCode (*irecv)(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                      void** phandles, void** request);
  ReturnCode (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request);
  ReturnCode (*test)(void* request, int* done, int* sizes);
  ReturnCode (*closeSend)(void* send_comm);
  ReturnCode (*closeRecv)(void* recv_comm);
  ReturnCode (*closeListen)(void* listen_comm);
  ReturnCode (*getDeviceMr)(void* comm, void* mhandle, void** device_mhandle);
  ReturnCode (*irecvConsumed)(void* recv_comm, int n, void* request);
  ReturnCode (*makeVDevice)(int* dev, VDeviceProps<4>*);
};

// Versions 11 and 12: one init and one finalize per communicator, with a context between them.
template <class Properties>
struct NetWithContext {
  const char* name;
  ReturnCode (*init)(void** context, std::uint64_t comm_id, CommConfig*, Logger, ProfilerCallback);
  ReturnCode (*devices)(int* count);
  ReturnCode (*getProperties)(int dev, Properties*);
  ReturnCode (*listen)(void* context, int dev, void* handle, void** listen_comm);
  ReturnCode (*connect)(void* context, int dev, void* handle, void** send_comm, DeviceHandle**);
  ReturnCode (*accept)(void* listen_comm, void** recv_comm, DeviceHandle**);
  ReturnCode (*regMr)(void* comm, void* data, std::size_t size, int type, void** mhandle);
  ReturnCode (*regMrDmaBuf)(void* comm, void* data, std::size_t size, int type, std::uint64_t offset, int fd,
                            void** mhandle);
  ReturnCode (*deregMr)(void* comm, void* mhandle);
  ReturnCode (*isend)(void* send_comm, void* data, std::size_t size, int tag, void* mhandle, void* phandle,
                      void** request);
  ReturnCode (*irecv)(void* recv_comm, int n, void** data, std::size_t* sizes, int* tags, void** mhandles,
                      void** phandles, void** request);
  ReturnCode (*iflush)(void* recv_comm, int n, void** data, int* sizes, void** mhandles, void** request);
  ReturnCode (*test)(void* request, int* done, int* sizes);
  ReturnCode (*closeSend)(void* send_comm);
  ReturnCode (*closeRecv)(void* recv_comm);
  ReturnCode (*closeListen)(void* listen_comm);
  ReturnCode (*getDeviceMr)(void* comm, void* mhandle, void** device_mhandle);
  ReturnCode (*irecvConsumed)(void* recv_comm, int n, void* request);
  ReturnCode (*makeVDevice)(int* dev, decltype(Properties::vProps)*);
  ReturnCode (*finalize)(void* context);
  ReturnCode (*setNetAttr)(void* context, NetAttr*);
};
using NetV11 = NetWithContext<PropertiesV11>;
using NetV12 = NetWithContext<PropertiesV12>;

// Api<N>: the types of table and properties of version N, and the table's symbol.
template <int Version>
struct Api;
template <>
struct Api<6> {
  using Net = NetV6;
  using Properties = PropertiesV6;
  static constexpr const char* kSymbol = "ncclNetPlugin_v6";
};
template <>
struct Api<7> {
  using Net = NetV7;
  using Properties = PropertiesV7;
  static constexpr const char* kSymbol = "ncclNetPlugin_v7";
};
template <>
struct Api<8> {
  using Net = NetV8;
  using Properties = PropertiesV8;
  static constexpr const char* kSymbol = "ncclNetPlugin_v8";
};
template <>
struct Api<9> {
  using Net = NetV9;
  using Properties = PropertiesV9;
  static constexpr const char* kSymbol = "ncclNetPlugin_v9";
};
template <>
struct Api<10> {
  using Net = NetV10;
  using Properties = PropertiesV9;
  static constexpr const char* kSymbol = "ncclNetPlugin_v10";
};
template <>
struct Api<11> {
  using Net = NetV11;
  using Properties = PropertiesV11;
  static constexpr const char* kSymbol = "ncclNetPlugin_v11";
};
template <>
struct Api<12> {
  using Net = NetV12;
  using Properties = PropertiesV12;
  static constexpr const char* kSymbol = "ncclNetPlugin_v12";
};
inline constexpr int kOldestVersion = 6, kNewestVersion = 12;

}  // namespace railweave::nccl::abi

#include "nccl/abi/net_layout.h"
