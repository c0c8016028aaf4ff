// The operations of EngineGroup: each fills in a Call, or a Message, and submits it.
#include <fmt/core.h>

#include "collectives/group/engine_group.h"

namespace railweave::collectives {
namespace {

// A few chunks of this size, moved between two cores and reduced, fit into a core's cache. A network needs longer
// chunks.
constexpr std::size_t kChunkWithinHost = 128 * KiB;

}  // namespace

Call EngineGroup::call_of(Operation operation, const void* input, void* output, DataType type, int root,
                          const Hints& hints) const {
  Call call;
  call.problem.operation = operation;
  call.problem.ranks = options_.size;
  call.problem.rank = options_.rank;
  call.problem.root = root;
  if (one_host_) call.problem.chunk_bytes = kChunkWithinHost;
  call.problem.element_bytes = size_bytes(type);
  call.problem.partial_bytes = partial_size_bytes(type);
  call.how.type = type;
  call.how.ranks = options_.size;
  call.input = input;
  call.output = output;
  call.hints = hints;
  return call;
}

WorkPtr EngineGroup::all_gather(const void* input, void* output, std::size_t count, DataType type, Hints hints) {
  Call call = call_of(Operation::all_gather, input, output, type, 0, hints);
  call.problem.counts.assign(std::size_t(options_.size), count);
  return submit(std::move(call));
}

WorkPtr EngineGroup::all_gather_v(const void* input, void* output, std::span<const std::size_t> counts, DataType type,
                                  Hints hints) {
  Call call = call_of(Operation::all_gather, input, output, type, 0, hints);
  call.problem.counts.assign(counts.begin(), counts.end());
  return submit(std::move(call));
}

WorkPtr EngineGroup::reduce_scatter(const void* input, void* output, std::size_t count, DataType type,
                                    Reduction reduction, Hints hints, double factor) {
  const std::vector<std::size_t> counts(std::size_t(options_.size), count);
  return reduce_scatter_v(input, output, counts, type, reduction, hints, factor);
}

WorkPtr EngineGroup::reduce_scatter_v(const void* input, void* output, std::span<const std::size_t> counts,
                                      DataType type, Reduction reduction, Hints hints, double factor) {
  Call call = call_of(Operation::reduce_scatter, input, output, type, 0, hints);
  call.problem.counts.assign(counts.begin(), counts.end());
  call.how.reduction = reduction;
  call.how.factor = factor;
  return submit(std::move(call));
}

WorkPtr EngineGroup::all_reduce(const void* input, void* output, std::size_t count, DataType type, Reduction reduction,
                                Hints hints, double factor) {
  Call call = call_of(Operation::all_reduce, input, output, type, 0, hints);
  call.problem.counts = {count};
  call.how.reduction = reduction;
  call.how.factor = factor;
  return submit(std::move(call));
}

WorkPtr EngineGroup::broadcast(const void* input, void* output, std::size_t count, DataType type, int root,
                               Hints hints) {
  Call call = call_of(Operation::broadcast, input, output, type, root, hints);
  call.problem.counts = {count};
  return submit(std::move(call));
}

WorkPtr EngineGroup::reduce(const void* input, void* output, std::size_t count, DataType type, Reduction reduction,
                            int root, Hints hints, double factor) {
  Call call = call_of(Operation::reduce, input, output, type, root, hints);
  call.problem.counts = {count};
  call.how.reduction = reduction;
  call.how.factor = factor;
  return submit(std::move(call));
}

WorkPtr EngineGroup::gather(const void* input, void* output, std::size_t count, DataType type, int root, Hints hints) {
  Call call = call_of(Operation::gather, input, output, type, root, hints);
  call.problem.counts.assign(std::size_t(options_.size), count);
  return submit(std::move(call));
}

WorkPtr EngineGroup::scatter(const void* input, void* output, std::size_t count, DataType type, int root, Hints hints) {
  Call call = call_of(Operation::scatter, input, output, type, root, hints);
  call.problem.counts.assign(std::size_t(options_.size), count);
  return submit(std::move(call));
}

WorkPtr EngineGroup::all_to_all(const void* input, void* output, std::size_t count, DataType type, Hints hints) {
  Call call = call_of(Operation::all_to_all, input, output, type, 0, hints);
  call.problem.counts.assign(std::size_t(options_.size), count);
  call.problem.receive_counts = call.problem.counts;
  call.problem.uniform = true;
  return submit(std::move(call));
}

WorkPtr EngineGroup::all_to_all_v(const void* input, void* output, std::span<const std::size_t> send_counts,
                                  std::span<const std::size_t> receive_counts, DataType type, Hints hints) {
  Call call = call_of(Operation::all_to_all, input, output, type, 0, hints);
  call.problem.counts.assign(send_counts.begin(), send_counts.end());
  call.problem.receive_counts.assign(receive_counts.begin(), receive_counts.end());
  return submit(std::move(call));
}

WorkPtr EngineGroup::barrier(Hints hints) {
  return submit(call_of(Operation::barrier, nullptr, nullptr, DataType::uint8, 0, hints));
}

namespace {

Status check_message(const Message& m, const char* what, int ranks) {
  const bool anyone = !m.sends && m.peer == kAnySource;
  if (!anyone && (m.peer < 0 || m.peer >= ranks))
    return Status(Code::invalid_argument, Scope::request,
                  fmt::format("{}: rank {}, expected 0 to {}", what, m.peer, ranks - 1));
  if (m.bytes > 0 && (m.sends ? m.source : m.target) == nullptr)
    return Status(Code::invalid_argument, Scope::request, fmt::format("{}: no memory for {} bytes", what, m.bytes));
  return {};
}

}  // namespace

WorkPtr EngineGroup::send(const void* data, std::size_t bytes, int to, std::uint32_t tag, Hints hints) {
  const Message message{true, to, tag, data, nullptr, bytes, hints.priority};
  return submit(message, check_message(message, "send", options_.size));
}

WorkPtr EngineGroup::recv(void* data, std::size_t capacity_bytes, int from, std::uint32_t tag, Hints) {
  const Message message{false, from, tag, nullptr, data, capacity_bytes};
  return submit(message, check_message(message, "recv", options_.size));
}

}  // namespace railweave::collectives
