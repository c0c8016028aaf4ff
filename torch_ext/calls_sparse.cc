// Sums of sparse tensors.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sparse_coo_tensor.h>

#include "torch_ext/backend.h"

namespace railweave::torch_ext {

// Blocks until the others have called it too: how much each rank has is asked first.
RailweaveBackend::WorkPtr RailweaveBackend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  Submission submission(c10d::OpType::_ALLREDUCE_SPARSE, "railweave:all_reduce_sparse");
  TORCH_CHECK(tensors.size() == 1, submission.title(), ": requires a single-element tensor list, found ",
              tensors.size());
  at::Tensor& tensor = tensors.front();
  TORCH_CHECK(tensor.layout() == at::kSparse && (tensor.is_cpu() || tensor.is_cuda()), submission.title(),
              ": expected a sparse tensor on the CPU or on a CUDA device, found ", tensor.layout(), " on ",
              tensor.device());
  TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM, submission.title(), ": only sums");
  const at::Tensor mine = tensor.coalesce().to(at::kCPU);
  const c10d::AllgatherOptions as_these{options.timeout, options.asyncOp};

  at::Tensor counts = at::empty({size_}, at::kLong), own_count = at::full({1}, mine._nnz(), at::kLong);
  _allgather_base(counts, own_count, as_these)->wait();
  Lists indices(1), values(1);
  for (int rank = 0; rank < size_; ++rank) {
    const std::int64_t count = counts[rank].item<std::int64_t>();
    std::vector<std::int64_t> shape = mine.values().sizes().vec();
    shape.front() = count;
    indices.front().push_back(at::empty({mine.sparse_dim(), count}, at::kLong));
    values.front().push_back(at::empty(shape, mine.values().options()));
  }
  Tensors own_indices{mine.indices()}, own_values{mine.values()};
  const WorkPtr with_indices = allgather(indices, own_indices, as_these),
                with_values = allgather(values, own_values, as_these);
  with_indices->wait();
  with_values->wait();
  const at::Tensor sum =
      at::sparse_coo_tensor(at::cat(indices.front(), 1), at::cat(values.front(), 0), tensor.sizes()).coalesce();
  tensor.copy_(sum);
  submission.result(tensor);
  return submit(std::move(submission), options.timeout, false);
}

}  // namespace railweave::torch_ext
