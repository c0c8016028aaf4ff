// The calls of libibverbs that the verbs wire makes, as a table. library.h fills the table from the library; tests fill
// it with a device in memory. No other file calls libibverbs.
//
// Each call does what the call of its name does (man ibv_NAME), with its errors: null with errno, or an errno that is
// returned. Calls that the library's header has inline are functions here, too.
// Lifetime: a table lives as long as the process, or as the test. Threads: as libibverbs says: any, but one thread at a
// time destroys an object.
#pragma once

#include <infiniband/verbs.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace railweave::wire::verbs {

struct Api {
  // --- devices
  ibv_device** (*get_device_list)(int* count) = nullptr;
  void (*free_device_list)(ibv_device** list) = nullptr;
  const char* (*get_device_name)(ibv_device* device) = nullptr;
  __be64 (*get_device_guid)(ibv_device* device) = nullptr;
  ibv_context* (*open_device)(ibv_device* device) = nullptr;
  int (*close_device)(ibv_context* context) = nullptr;
  // Writes the fields up to `flags`, as the first version of the call does.
  int (*query_port)(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) = nullptr;
  // Null: the library is older than version 34 and has no such call.
  ssize_t (*query_gid_table)(ibv_context* context, ibv_gid_entry* entries, std::size_t most, std::uint32_t flags,
                             std::size_t entry_bytes) = nullptr;

  // --- objects. All of these may block, but the last two
  ibv_pd* (*alloc_pd)(ibv_context* context) = nullptr;
  int (*dealloc_pd)(ibv_pd* domain) = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd* domain, void* address, std::size_t bytes, int access) = nullptr;
  int (*dereg_mr)(ibv_mr* region) = nullptr;
  ibv_comp_channel* (*create_comp_channel)(ibv_context* context) = nullptr;
  int (*destroy_comp_channel)(ibv_comp_channel* channel) = nullptr;
  ibv_cq* (*create_cq)(ibv_context* context, int depth, void* cq_context, ibv_comp_channel* channel,
                       int vector) = nullptr;
  int (*destroy_cq)(ibv_cq* queue) = nullptr;
  ibv_qp* (*create_qp)(ibv_pd* domain, ibv_qp_init_attr* attributes) = nullptr;
  int (*modify_qp)(ibv_qp* pair, ibv_qp_attr* attributes, int mask) = nullptr;
  int (*destroy_qp)(ibv_qp* pair) = nullptr;
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** queue, void** cq_context) = nullptr;
  void (*ack_cq_events)(ibv_cq* queue, unsigned int count) = nullptr;

  // --- events
  int (*get_async_event)(ibv_context* context, ibv_async_event* event) = nullptr;
  void (*ack_async_event)(ibv_async_event* event) = nullptr;
  const char* (*event_type_str)(ibv_event_type type) = nullptr;
  const char* (*wc_status_str)(ibv_wc_status status) = nullptr;

  // --- fork
  int (*fork_init)() = nullptr;
  // Null: the library is older than version 38 and has no such call.
  ibv_fork_status (*is_fork_initialized)() = nullptr;

  // --- data; inline in the library's header
  int (*poll_cq)(ibv_cq* queue, int most, ibv_wc* completions) = nullptr;
  int (*req_notify_cq)(ibv_cq* queue, int solicited_only) = nullptr;
  int (*post_send)(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) = nullptr;
  int (*post_recv)(ibv_qp* pair, ibv_recv_wr* requests, ibv_recv_wr** bad) = nullptr;
};

}  // namespace railweave::wire::verbs
