// Operations that reduce. collectives/schedule/problem.h says which rank has which memory.
#include "torch_ext/csrc/backend.h"
#include "torch_ext/csrc/c10d_names.h"

namespace railweave::torch_ext {
namespace {

using c10d::OpType;
using collectives::Group;
using collectives::Hints;

// Adds one all_reduce of `tensor`, in place.
void add_all_reduce(Submission& submission, const at::Tensor& tensor, const c10d::ReduceOp& op) {
  const TensorReduction how = reduction_of(op, tensor, submission.caller());
  submission.input(tensor);
  submission.result(tensor);
  for (const at::Tensor& piece : submission.pieces_to_change(tensor)) {
    void* const data = submission.change(piece);
    submission.call([=, count = std::size_t(piece.numel())](Group& group, const Hints& hints) {
      return group.all_reduce(data, data, count, how.type, how.reduction, hints, how.factor);
    });
  }
}

void add_reduce_scatter(Submission& submission, const at::Tensor& to_output, const at::Tensor& of_input,
                        const c10d::ReduceOp& op, int rank, int ranks) {
  check_tensor(to_output, submission.caller());
  check_tensor(of_input, submission.caller());
  check_same_dtype(to_output, of_input, submission.caller());
  submission.input(of_input);
  submission.result(to_output);
  TORCH_CHECK(of_input.numel() == to_output.numel() * ranks, submission.caller(), ": input tensor must have ", ranks,
              " times the elements of the output, ", to_output.numel(), "; it has ", of_input.numel());
  const at::Tensor output = as_sums(to_output, op, submission.caller()), input = as_summands(of_input, op);
  const TensorReduction how = reduction_of(op, input, submission.caller());
  const auto add = [&](const void* from, void* to, std::int64_t count) {
    submission.call([=](Group& group, const Hints& hints) {
      return group.reduce_scatter(from, to, std::size_t(count), how.type, how.reduction, hints, how.factor);
    });
  };
  const auto slices = submission.slices(input, ranks);
  if (slices.size() == 1) {
    const void* const from = submission.read(submission.without_alias(input, output, -rank * output.numel()));
    return add(from, submission.write(output), output.numel());
  }
  const at::Tensor from = submission.row_to_read(input), to = submission.row_to_write(output);
  for (const auto& [begin, length] : slices) {
    const void* const pieces = submission.read(at::TensorList(slice_of_each(from, ranks, begin, length)));
    add(pieces, submission.write(to.narrow(0, begin, length)), length);
  }
}

}  // namespace

RailweaveBackend::WorkPtr RailweaveBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (tensors.size() == 1 && tensors.front().is_sparse()) return allreduce_sparse(tensors, options);
  Submission submission(OpType::ALLREDUCE, caller("railweave:all_reduce"));
  add_all_reduce(submission, only(tensors, submission.caller()), options.reduceOp);
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::allreduce_coalesced(Tensors& tensors,
                                                                const c10d::AllreduceCoalescedOptions& options) {
  Submission submission(OpType::ALLREDUCE_COALESCED, caller("railweave:all_reduce_coalesced"));
  check_tensors(tensors, submission.caller());
  for (const at::Tensor& tensor : tensors) add_all_reduce(submission, tensor, options.reduceOp);
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  Submission submission(OpType::REDUCE, caller("railweave:reduce"));
  const at::Tensor tensor = as_sums(only(tensors, submission.caller()), options.reduceOp, submission.caller());
  check_root(options.rootRank, submission.caller());
  const TensorReduction how = reduction_of(options.reduceOp, tensor, submission.caller());
  const bool is_root = options.rootRank == rank_;
  void* const to = is_root ? submission.change(tensor) : nullptr;
  const void* const from = is_root ? to : submission.read(tensor);
  submission.input(tensors.front());
  submission.result(tensors.front());
  const int root = int(options.rootRank);
  submission.call([=, count = std::size_t(tensor.numel())](Group& group, const Hints& hints) {
    return group.reduce(from, to, count, how.type, how.reduction, root, hints, how.factor);
  });
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::reduce_scatter(Tensors& outputs, Lists& inputs,
                                                           const c10d::ReduceScatterOptions& options) {
  Submission submission(OpType::REDUCE_SCATTER, caller("railweave:reduce_scatter"));
  const at::Tensor output = as_sums(only(outputs, submission.caller()), options.reduceOp, submission.caller());
  TORCH_CHECK(inputs.size() == 1 && std::int64_t(inputs.front().size()) == size_, submission.caller(),
              ": expected one list of ", size_, " input tensors");
  check_tensors(inputs.front(), submission.caller());
  check_same_dtype(outputs.front(), inputs.front().front(), submission.caller());
  Tensors list;
  for (const at::Tensor& input : inputs.front()) list.push_back(as_summands(input, options.reduceOp));
  TORCH_CHECK(list[std::size_t(rank_)].numel() == output.numel(), submission.caller(), ": the output has ",
              output.numel(), " elements, and input ", rank_, " has ", list[std::size_t(rank_)].numel());
  const TensorReduction how = reduction_of(options.reduceOp, output, submission.caller());
  std::vector<std::size_t> counts;
  std::int64_t own_at = 0;
  for (const at::Tensor& input : list) {
    if (std::int64_t(counts.size()) < rank_) own_at += input.numel();
    counts.push_back(std::size_t(input.numel()));
  }
  const auto whole = joined(list);
  const void* const from = whole ? submission.read(submission.without_alias(*whole, output, -own_at))
                                 : submission.read(at::TensorList(list));
  void* const to = submission.write(output);
  submission.inputs(inputs.front());
  submission.result(outputs.front());
  submission.call([=](Group& group, const Hints& hints) {
    return group.reduce_scatter_v(from, to, counts, how.type, how.reduction, hints, how.factor);
  });
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                 const c10d::ReduceScatterOptions& options) {
  Submission submission(OpType::_REDUCE_SCATTER_BASE, caller("railweave:_reduce_scatter_base"));
  add_reduce_scatter(submission, output, input, options.reduceOp, rank_, size_);
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                            const c10d::ReduceScatterOptions& options) {
  Submission submission(kReduceScatterTensorCoalesced, caller("railweave:reduce_scatter_tensor_coalesced"));
  TORCH_CHECK(outputs.size() == inputs.size(), submission.caller(), ": ", outputs.size(), " outputs for ",
              inputs.size(), " inputs");
  for (std::size_t i = 0; i < outputs.size(); ++i)
    add_reduce_scatter(submission, outputs[i], inputs[i], options.reduceOp, rank_, size_);
  return submit(std::move(submission), options.timeout);
}

}  // namespace railweave::torch_ext
