// Sums of sparse tensors.
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sparse_coo_tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/util/StringUtil.h>

#include <algorithm>

#include "torch_ext/csrc/backend.h"

namespace railweave::torch_ext {
namespace {

constexpr std::int64_t kDimsMax = 60;

// Facts that the ranks compare before they add sparse tensors: nnz, dtype, sparse and dense dimensions, sizes.
at::Tensor facts_of(const at::Tensor& tensor, const Caller& caller) {
  TORCH_CHECK(tensor.dim() <= kDimsMax, caller, ": expected at most ", kDimsMax, " dimensions, found ", tensor.dim());
  at::Tensor facts = at::zeros({4 + kDimsMax}, at::kLong);
  auto* const fact = facts.data_ptr<std::int64_t>();
  fact[0] = tensor._nnz();
  fact[1] = std::int64_t(tensor.scalar_type());
  fact[2] = tensor.sparse_dim();
  fact[3] = tensor.dense_dim();
  std::ranges::copy(tensor.sizes(), fact + 4);
  return facts;
}

std::string described(const at::Tensor& facts) {
  const auto* const fact = facts.data_ptr<std::int64_t>();
  const at::IntArrayRef sizes(fact + 4, std::size_t(fact[2] + fact[3]));
  return c10::str("size ", sizes, " of ", at::ScalarType(fact[1]), " with ", fact[2], " sparse dimensions");
}

// Every rank compares the facts of all ranks, so all of them refuse a difference.
void check_alike(const at::Tensor& facts, const Caller& caller) {
  for (std::int64_t rank = 1; rank < facts.size(0); ++rank)
    TORCH_CHECK(facts[rank].slice(0, 1).equal(facts[0].slice(0, 1)), caller, ": rank 0 has a tensor of ",
                described(facts[0]), ", rank ", rank, " one of ", described(facts[rank]));
}

}  // namespace

// Blocks until the other ranks have called it, too, because the facts are exchanged first.
RailweaveBackend::WorkPtr RailweaveBackend::allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) {
  Submission submission(c10d::OpType::_ALLREDUCE_SPARSE, caller("railweave:all_reduce_sparse"));
  TORCH_CHECK(tensors.size() == 1, submission.caller(), ": requires a single-element tensor list, found ",
              tensors.size());
  at::Tensor& tensor = tensors.front();
  TORCH_CHECK(tensor.layout() == at::kSparse && (tensor.is_cpu() || tensor.is_cuda()), submission.caller(),
              ": expected a sparse tensor on the CPU or on a CUDA device, found ", tensor.layout(), " on ",
              tensor.device());
  TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM, submission.caller(), ": sparse tensors can only be summed");
  const at::Tensor mine = tensor.coalesce().to(at::kCPU);
  const c10d::AllgatherOptions as_these{options.timeout, options.asyncOp};

  at::Tensor own_facts = facts_of(mine, submission.caller());
  at::Tensor facts = at::empty({size_, own_facts.numel()}, at::kLong);
  _allgather_base(facts, own_facts, as_these)->wait();
  check_alike(facts, submission.caller());
  Lists indices(1), values(1);
  for (int rank = 0; rank < size_; ++rank) {
    const std::int64_t count = facts[rank][0].item<std::int64_t>();
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
