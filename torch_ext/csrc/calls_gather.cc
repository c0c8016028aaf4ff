// Operations that move elements from one rank, to one rank, or to all; for any dtype.
#include "torch_ext/csrc/backend.h"

namespace railweave::torch_ext {
namespace {

using c10d::OpType;
using collectives::Group;
using collectives::Hints;

void add_all_gather(Submission& submission, const at::Tensor& output, const at::Tensor& input, int rank, int ranks) {
  check_tensor(output, submission.caller());
  check_tensor(input, submission.caller());
  check_same_dtype(output, input, submission.caller());
  TORCH_CHECK(output.numel() == input.numel() * ranks, submission.caller(),
              ": output tensor size must be equal to world_size times "
              "input tensor size: ",
              output.numel(), " elements for ", ranks, " inputs of ", input.numel());
  submission.input(input);
  submission.result(output);
  const auto add = [&](const void* from, void* to, const Moved& m) {
    submission.call(
        [=](Group& group, const Hints& hints) { return group.all_gather(from, to, m.count, m.type, hints); });
  };
  const auto slices = submission.slices(output, ranks);
  if (slices.size() == 1) {
    const void* const from = submission.read(submission.without_alias(input, output, rank * input.numel()));
    return add(from, submission.write(output), moved(input));
  }
  const at::Tensor from = submission.row_to_read(input), to = submission.row_to_write(output);
  for (const auto& [begin, length] : slices) {
    const at::Tensor piece = from.narrow(0, begin, length);
    const void* const data = submission.read(piece);
    add(data, submission.write(at::TensorList(slice_of_each(to, ranks, begin, length))), moved(piece));
  }
}

// Returns `input`, which may lie in its own slot of the list's memory. Returns a copy if it lies elsewhere in that
// memory.
at::Tensor beside(Submission& submission, const at::Tensor& input, const Tensors& outputs, int rank) {
  const auto whole = joined(outputs);
  if (!whole) return input;
  std::int64_t own_at = 0;
  for (int before = 0; before < rank; ++before) own_at += outputs[std::size_t(before)].numel();
  return submission.without_alias(input, *whole, own_at);
}

void add_all_gather(Submission& submission, const Tensors& outputs, const at::Tensor& input, int rank, int ranks) {
  check_tensor(input, submission.caller());
  TORCH_CHECK(std::int64_t(outputs.size()) == ranks, submission.caller(),
              ": invalid output tensor list: ", outputs.size(), " tensors for ", ranks, " ranks");
  check_tensors(outputs, submission.caller());
  check_same_dtype(input, outputs.front(), submission.caller());
  TORCH_CHECK(outputs[std::size_t(rank)].numel() == input.numel(), submission.caller(),
              ": invalid tensor size: output ", rank, " has ", outputs[std::size_t(rank)].numel(),
              " elements, and the input ", input.numel());
  const void* const from = submission.read(beside(submission, input, outputs, rank));
  void* const to = submission.write(at::TensorList(outputs));
  submission.input(input);
  submission.results(outputs);
  submission.call([=, type = moved(input).type, counts = moved_counts(outputs)](Group& group, const Hints& hints) {
    return group.all_gather_v(from, to, counts, type, hints);
  });
}

void check_alike(const Tensors& tensors, const at::Tensor& one, const Caller& caller) {
  check_tensors(tensors, caller);
  check_same_dtype(one, tensors.front(), caller);
  for (const at::Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.numel() == one.numel(), caller, ": invalid tensor size: ", tensor.numel(), " elements beside ",
                one.numel());
  }
}

void check_outputs(const RailweaveBackend::Lists& outputs, const at::Tensor& input, int ranks, const Caller& caller) {
  TORCH_CHECK(outputs.size() == 1 && std::int64_t(outputs.front().size()) == ranks, caller,
              ": requires a single-element output list containing a list with ", ranks, " tensors.");
  check_alike(outputs.front(), input, caller);
}

}  // namespace

RailweaveBackend::WorkPtr RailweaveBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  Submission submission(OpType::BROADCAST, caller("railweave:broadcast"));
  const at::Tensor& tensor = only(tensors, submission.caller());
  check_root(options.rootRank, submission.caller());
  submission.input(tensor);
  submission.result(tensor);
  submission.check_writable(tensor);  // at the root, too, so that all ranks refuse alike
  const bool is_root = options.rootRank == rank_;
  for (const at::Tensor& piece : is_root ? submission.pieces_to_read(tensor) : submission.pieces_to_write(tensor)) {
    // The group does not write to the root's memory.
    void* const data = is_root ? const_cast<void*>(submission.read(piece)) : submission.write(piece);
    submission.call([=, m = moved(piece), root = int(options.rootRank)](Group& group, const Hints& hints) {
      return group.broadcast(data, data, m.count, m.type, root, hints);
    });
  }
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::allgather(Lists& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& options) {
  Submission submission(OpType::ALLGATHER, caller("railweave:all_gather"));
  const at::Tensor& input = only(inputs, submission.caller());
  TORCH_CHECK(outputs.size() == 1, submission.caller(), ": requires a single output tensor list, found ",
              outputs.size());
  add_all_gather(submission, outputs.front(), input, rank_, size_);
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                            const c10d::AllgatherOptions& options) {
  Submission submission(OpType::_ALLGATHER_BASE, caller("railweave:_all_gather_base"));
  add_all_gather(submission, output, input, rank_, size_);
  return submit(std::move(submission), options.timeout);
}

// outputs[r][i] receives the inputs[i] of rank r.
RailweaveBackend::WorkPtr RailweaveBackend::allgather_coalesced(Lists& outputs, Tensors& inputs,
                                                                const c10d::AllgatherOptions& options) {
  Submission submission(OpType::ALLGATHER_COALESCED, caller("railweave:all_gather_coalesced"));
  TORCH_CHECK(std::int64_t(outputs.size()) == size_, submission.caller(), ": output lists should be as many as ranks, ",
              size_);
  for (const Tensors& list : outputs) {
    TORCH_CHECK(list.size() == inputs.size(), submission.caller(), ": invalid output size: (expected length ",
                inputs.size(), ", got ", list.size(), ")");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors of_ranks;
    for (const Tensors& list : outputs) of_ranks.push_back(list[i]);
    add_all_gather(submission, of_ranks, inputs[i], rank_, size_);
  }
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                            const c10d::AllgatherOptions& options) {
  Submission submission(OpType::COALESCED, caller("railweave:all_gather_into_tensor_coalesced"));
  TORCH_CHECK(outputs.size() == inputs.size(), submission.caller(), ": ", outputs.size(), " outputs for ",
              inputs.size(), " inputs");
  for (std::size_t i = 0; i < outputs.size(); ++i) add_all_gather(submission, outputs[i], inputs[i], rank_, size_);
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::gather(Lists& outputs, Tensors& inputs,
                                                   const c10d::GatherOptions& options) {
  Submission submission(OpType::GATHER, caller("railweave:gather"));
  const at::Tensor& input = only(inputs, submission.caller());
  check_root(options.rootRank, submission.caller());
  const bool is_root = options.rootRank == rank_;
  if (is_root) check_outputs(outputs, input, size_, submission.caller());
  const void* const from = submission.read(is_root ? beside(submission, input, outputs.front(), rank_) : input);
  void* to = nullptr;
  submission.input(input);
  if (is_root) {
    to = submission.write(at::TensorList(outputs.front()));
    submission.results(outputs.front());
  } else {
    TORCH_CHECK(outputs.empty(), submission.caller(), ": requires empty output on non-root");
  }
  submission.call([=, m = moved(input), root = int(options.rootRank)](Group& group, const Hints& hints) {
    return group.gather(from, to, m.count, m.type, root, hints);
  });
  return submit(std::move(submission), options.timeout);
}

RailweaveBackend::WorkPtr RailweaveBackend::scatter(Tensors& outputs, Lists& inputs,
                                                    const c10d::ScatterOptions& options) {
  Submission submission(OpType::SCATTER, caller("railweave:scatter"));
  const at::Tensor& output = only(outputs, submission.caller());
  check_root(options.rootRank, submission.caller());
  const void* from = nullptr;
  if (options.rootRank == rank_) {
    TORCH_CHECK(inputs.size() == 1 && std::int64_t(inputs.front().size()) == size_, submission.caller(),
                ": requires a single-element input list containing a list with ", size_, " tensors.");
    check_alike(inputs.front(), output, submission.caller());
    const auto whole = joined(inputs.front());
    from = whole ? submission.read(submission.without_alias(*whole, output, -rank_ * output.numel()))
                 : submission.read(at::TensorList(inputs.front()));
    submission.inputs(inputs.front());
  } else {
    TORCH_CHECK(inputs.empty(), submission.caller(), ": requires empty input on non-root");
  }
  void* const to = submission.write(output);
  submission.result(output);
  submission.call([=, m = moved(output), root = int(options.rootRank)](Group& group, const Hints& hints) {
    return group.scatter(from, to, m.count, m.type, root, hints);
  });
  return submit(std::move(submission), options.timeout);
}

}  // namespace railweave::torch_ext
