// Operations between each two ranks, for any dtype.
#include "torch_ext/csrc/backend.h"

namespace railweave::torch_ext {
namespace {

using c10d::OpType;
using collectives::Group;
using collectives::Hints;

// Returns the counts (see moved()) for each rank: of `splits` rows of the tensor; equal parts if there are no splits.
std::vector<std::size_t> parts_of(const at::Tensor& tensor, const std::vector<int64_t>& splits, int ranks,
                                  const Caller& caller) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  if (splits.empty()) {
    TORCH_CHECK(rows % ranks == 0, caller, ": Tensor's dim 0 does not divide equally across group size: ", rows,
                " rows for ", ranks);
    return std::vector<std::size_t>(std::size_t(ranks), moved(tensor).count / std::size_t(ranks));
  }
  TORCH_CHECK(std::int64_t(splits.size()) == ranks, caller,
              ": Number of tensor splits not equal to group size: ", splits.size(), ", ", ranks);
  std::vector<std::size_t> counts;
  std::int64_t sum = 0;
  for (const std::int64_t split : splits) {
    TORCH_CHECK(split >= 0, caller, ": a split is negative: ", split);
    sum += split;
    counts.push_back(rows == 0 ? 0 : moved(tensor).count / std::size_t(rows) * std::size_t(split));
  }
  TORCH_CHECK(sum == rows, caller, ": Split sizes doesn't match total dim 0 size: ", sum, " and ", rows);
  return counts;
}

// Checks the part that a rank sends to itself: both sizes are its own, so only this rank can find a difference.
void check_own_part(const std::vector<std::size_t>& sent, const std::vector<std::size_t>& received, int rank,
                    const Caller& caller) {
  const std::size_t to = sent[std::size_t(rank)], from = received[std::size_t(rank)];
  TORCH_CHECK(to == from, caller, ": this rank sends ", to, " elements to itself and receives ", from);
}

void check_rank(int rank, int ranks, const Caller& caller) {
  TORCH_CHECK(rank >= 0 && rank < ranks, caller, ": invalid rank: ", rank, " of ", ranks, " ranks");
}

std::uint32_t tag_of(int tag, const Caller& caller) {
  TORCH_CHECK(tag >= 0, caller, ": Tag must be nonnegative, found ", tag);
  return std::uint32_t(tag);
}

}  // namespace

RailweaveBackend::WorkPtr RailweaveBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                          std::vector<int64_t>& output_splits,
                                                          std::vector<int64_t>& input_splits,
                                                          const c10d::AllToAllOptions& options) {
  Submission submission(OpType::ALLTOALL_BASE, caller("railweave:all_to_all"));
  check_tensor(output, submission.caller());
  check_tensor(input, submission.caller());
  check_same_dtype(output, input, submission.caller());
  const auto sent = parts_of(input, input_splits, size_, submission.caller());
  const auto received = parts_of(output, output_splits, size_, submission.caller());
  if (input_splits.empty() && output_splits.empty())
    TORCH_CHECK(output.numel() == input.numel(), submission.caller(), ": the output has ", output.numel(),
                " elements, the input ", input.numel());
  check_own_part(sent, received, rank_, submission.caller());
  const void* const from = submission.read(submission.without_alias(input, output, std::nullopt));
  void* const to = submission.write(output);
  submission.input(input);
  submission.result(output);
  // Other ranks may have given splits where this one did not. Only the counts of a pair must agree.
  submission.call([=, type = moved(input).type](Group& group, const Hints& hints) {
    return group.all_to_all_v(from, to, sent, received, type, hints);
  });
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                                     const c10d::AllToAllOptions& options) {
  Submission submission(OpType::ALLTOALL, caller("railweave:all_to_all"));
  TORCH_CHECK(std::int64_t(inputs.size()) == size_ && std::int64_t(outputs.size()) == size_, submission.caller(),
              ": expected ", size_, " tensors each way, found ", inputs.size(), " inputs and ", outputs.size(),
              " outputs");
  check_tensors(inputs, submission.caller());
  check_tensors(outputs, submission.caller());
  check_same_dtype(inputs.front(), outputs.front(), submission.caller());
  const auto sent = moved_counts(inputs), received = moved_counts(outputs);
  check_own_part(sent, received, rank_, submission.caller());
  const auto all_inputs = joined(inputs), all_outputs = joined(outputs);
  const void* const from = all_inputs && all_outputs
                               ? submission.read(submission.without_alias(*all_inputs, *all_outputs, std::nullopt))
                               : submission.read(at::TensorList(inputs));
  void* const to = submission.write(at::TensorList(outputs));
  submission.inputs(inputs);
  submission.results(outputs);
  submission.call([=, type = moved(inputs.front()).type](Group& group, const Hints& hints) {
    return group.all_to_all_v(from, to, sent, received, type, hints);
  });
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::send(Tensors& tensors, int to, int tag) {
  Submission submission(OpType::SEND, messenger("railweave:send"));
  const at::Tensor& tensor = only(tensors, submission.caller());
  check_rank(to, size_, submission.caller());
  const void* const data = submission.read(tensor);
  submission.input(tensor);
  const std::uint32_t label = tag_of(tag, submission.caller());
  submission.outline().whom = c10::str(" to rank ", to, ", tag ", tag, ",");
  submission.outline().peer = to;
  submission.call([=, bytes = tensor.nbytes()](Group& group, const Hints& hints) {
    return group.send(data, bytes, to, label, hints);
  });
  return submit(std::move(submission), c10d::kUnsetTimeout, false);
}

RailweaveBackend::WorkPtr RailweaveBackend::receive(Tensors& tensors, int from, int tag, const Caller& caller,
                                                    OpType type) {
  Submission submission(type, caller);
  const at::Tensor& tensor = only(tensors, caller);
  void* const data = submission.write(tensor);
  submission.input(tensor);
  submission.result(tensor);
  submission.message(tensor.nbytes());
  submission.outline().peer = from;
  submission.outline().whom =
      c10::str(" from ", from == collectives::kAnySource ? "any rank" : c10::str("rank ", from), ", tag ", tag, ",");
  submission.call([=, bytes = tensor.nbytes(), label = tag_of(tag, caller)](Group& group, const Hints& hints) {
    return group.recv(data, bytes, from, label, hints);
  });
  return submit(std::move(submission), c10d::kUnsetTimeout, false);
}

RailweaveBackend::WorkPtr RailweaveBackend::recv(Tensors& tensors, int from, int tag) {
  const Caller receiver = messenger("railweave:recv");
  check_rank(from, size_, receiver);
  return receive(tensors, from, tag, receiver, OpType::RECV);
}

RailweaveBackend::WorkPtr RailweaveBackend::recvAnysource(Tensors& tensors, int tag) {
  return receive(tensors, collectives::kAnySource, tag, messenger("railweave:recvAnySource"), OpType::RECVANYSOURCE);
}

}  // namespace railweave::torch_ext
