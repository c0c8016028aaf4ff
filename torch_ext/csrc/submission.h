// Prepares one operation of torch for the group: which memory the group sees for each tensor, and which copies are made
// before and after. Throws if the tensors are on different devices.
// Threads: the caller's.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "torch_ext/csrc/caller.h"
#include "torch_ext/csrc/hints.h"
#include "torch_ext/csrc/work.h"

namespace railweave::torch_ext {

class Submission {
 public:
  // A slice of each of several equal parts of a tensor, in elements.
  struct Slice {
    std::int64_t from, length;
  };

  // Takes the hints of the calling thread.
  Submission(c10d::OpType type, const Caller& caller) : caller_(caller) {
    outline_.type = type, outline_.title = caller.title, outline_.hints = hints_of_this_thread();
  }

  // Memory for the group, valid until the operation is over. A tensor that is not contiguous is copied: before the
  // operation if read, after it if written. A tensor of a staged device is copied likewise, by the device.
  const void* read(const at::Tensor& tensor);
  void* write(const at::Tensor& tensor);
  void* change(const at::Tensor& tensor);
  // Throws if no result can be written to the tensor. Ranks that only read the tensor call it, too, so all ranks refuse
  // alike.
  void check_writable(const at::Tensor& tensor) const;
  // Returns `input`, to be read while `output` is written. Returns a copy if the two share memory in a way that the
  // group's operation does not allow. `own_at`: where the input may lie in the output, in elements; negative: where the
  // output may lie in the input.
  at::Tensor without_alias(const at::Tensor& input, const at::Tensor& output, std::optional<std::int64_t> own_at);
  // The same for all tensors of a list as one piece, in order.
  const void* read(at::TensorList tensors);
  void* write(at::TensorList tensors);

  // Cuts each of the `parts` equal parts of `whole` into chunks. One chunk, unless the tensor is on a staged device:
  // then copies of a chunk overlap with another chunk on the wire. The cuts depend on the size alone, so they are the
  // same on every rank.
  std::vector<Slice> slices(const at::Tensor& whole, std::int64_t parts);
  // Returns the elements as one row, to be sliced: for reading, for writing, for both.
  at::Tensor row_to_read(const at::Tensor& tensor);
  at::Tensor row_to_write(const at::Tensor& tensor);
  at::Tensor row_to_change(const at::Tensor& tensor);
  // Returns the tensor itself, or slices of its row.
  Tensors pieces_to_read(const at::Tensor& tensor) { return pieces(tensor, &Submission::row_to_read); }
  Tensors pieces_to_write(const at::Tensor& tensor) { return pieces(tensor, &Submission::row_to_write); }
  Tensors pieces_to_change(const at::Tensor& tensor) { return pieces(tensor, &Submission::row_to_change); }

  void input(const at::Tensor& tensor) { outline_.inputs.push_back(tensor); }
  void inputs(at::TensorList tensors) { outline_.inputs.insert(outline_.inputs.end(), tensors.begin(), tensors.end()); }
  void result(const at::Tensor& tensor) { outline_.results.push_back(tensor); }
  void results(at::TensorList tensors) {
    outline_.results.insert(outline_.results.end(), tensors.begin(), tensors.end());
  }
  void message(std::size_t bytes) { outline_.is_receive = true, outline_.message_bytes = bytes; }
  void after(std::vector<c10::intrusive_ptr<c10d::Work>> earlier) { outline_.after = std::move(earlier); }

  // Adds a chunk, with the memory obtained since the last call(). The chunk belongs to the result (else the input) that
  // was added last. `call` runs once the Work exists, and never if no Work is made.
  void call(std::function<collectives::WorkPtr(collectives::Group&, const collectives::Hints&)> call);

  Outline& outline() { return outline_; }
  const Caller& caller() const { return caller_; }

 private:
  void* kept(const at::Tensor& tensor);
  bool staged(const at::Tensor& tensor);
  at::Tensor room(std::int64_t elements, const at::Tensor& like);
  at::Tensor fetched(const at::Tensor& tensor);
  void* in_pieces(at::TensorList tensors,
                  const std::function<void(const at::Tensor& piece, const at::Tensor& tensor)>& each);
  Tensors pieces(const at::Tensor& tensor, at::Tensor (Submission::*row_of)(const at::Tensor&));

  const Caller caller_;
  Outline outline_;
  Chunk chunk_;                      // being prepared; call() completes it
  std::optional<at::Device> place_;  // device of the tensors; none: no tensor yet
};

}  // namespace railweave::torch_ext
