// The symbols that NCCL looks for, newest first. The library exports no other symbol (exports.map).
#include "nccl/net/table.h"

#define RW_EXPORT(version)                                                                                       \
  extern "C" __attribute__((                                                                                     \
      visibility("default"))) constinit const railweave::nccl::abi::Api<version>::Net ncclNetPlugin_v##version = \
      railweave::nccl::make_table<version>()

RW_EXPORT(12);
RW_EXPORT(11);
RW_EXPORT(10);
RW_EXPORT(9);
RW_EXPORT(8);
RW_EXPORT(7);
RW_EXPORT(6);
