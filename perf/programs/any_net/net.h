// One interface to any net plugin with any version of its table, so that code which drives plugins is written once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nccl/abi/net.h"

namespace railweave::any_net {

namespace abi = nccl::abi;
using abi::ReturnCode;

// Result of getProperties in the newest form. Members that a version lacks keep these values.
struct Properties {
  std::string name, pci_path;
  const char* name_pointer = nullptr;
  std::uint64_t guid = 0;
  int ptr_support = 0, reg_is_global = 0, force_flush = 0, speed_mbps = 0, port = 0;
  float latency_us = 0;
  int max_comms = 0, max_recvs = 0, net_device_type = 0, net_device_version = 0;
  int vdevices = 1;
  std::vector<int> vdevice_members;
  std::size_t max_p2p_bytes = abi::kMaxMessageBytes, max_coll_bytes = abi::kMaxMessageBytes;
  int max_multi_request = 1, rail_id = -1, plane_id = -1;
};

// Calls are NCCL's and follow its rules. finalize() succeeds and does nothing for a version without the call.
class Net {
 public:
  virtual ~Net() = default;
  virtual int version() const = 0;
  virtual const char* name() const = 0;
  virtual bool has_context() const = 0;  // v11 and later
  // Returns which of regMrDmaBuf, getDeviceMr, irecvConsumed and makeVDevice are not null.
  virtual std::vector<std::string> optional_entries() const = 0;

  virtual ReturnCode init(void** context, int traffic_class, abi::Logger logger) = 0;
  virtual ReturnCode finalize(void* context) = 0;
  virtual ReturnCode devices(int* count) = 0;
  virtual ReturnCode properties(int dev, Properties& out) = 0;  // fills the plugin's memory with 0xAA first
  virtual ReturnCode listen(void* context, int dev, void* handle, void** comm) = 0;
  virtual ReturnCode connect(void* context, int dev, int traffic_class, void* handle, void** comm) = 0;
  virtual ReturnCode accept(void* listen_comm, void** comm) = 0;
  virtual ReturnCode reg_mr(void* comm, void* data, std::size_t size, int type, void** mhandle) = 0;
  virtual ReturnCode dereg_mr(void* comm, void* mhandle) = 0;
  virtual ReturnCode isend(void* comm, void* data, std::size_t size, void* mhandle, void** request) = 0;
  virtual ReturnCode irecv(void* comm, int n, void* data, std::size_t size, void* mhandle, void** request) = 0;
  virtual ReturnCode iflush(void* comm, void* data, int size, void* mhandle, void** request) = 0;
  virtual ReturnCode test(void* request, int* done, int* sizes) = 0;
  virtual ReturnCode close_send(void* comm) = 0;
  virtual ReturnCode close_recv(void* comm) = 0;
  virtual ReturnCode close_listen(void* comm) = 0;
};

// Wraps the table that abi::Api<version>::kSymbol names. The table is borrowed. Both functions return null for an
// unknown version.
std::unique_ptr<Net> net_over(const void* table, int version);
const char* symbol_of(int version);

}  // namespace railweave::any_net
