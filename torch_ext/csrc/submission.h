// An operation of torch's on its way into the group: which memory the group sees of which tensor, and what is copied
// when. Throws where the tensors are not all of one device. Threads: the caller's.
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

  // Its hints are those of the calling thread.
  Submission(c10d::OpType type, const Caller& caller) : caller_(caller) {
    outline_.type = type, outline_.title = caller.title, outline_.hints = hints_of_this_thread();
  }

  // Memory for the group, valid until the operation is over. A tensor whose elements do not lie one after the other is
  // copied: before, where it is read; after, where it is written. So is one of a device that is staged, by the device.
  const void* read(const at::Tensor& tensor);
  void* write(const at::Tensor& tensor);
  void* change(const at::Tensor& tensor);
  // Throws where nothing could be written to it: for who only reads what others write.
  void check_writable(const at::Tensor& tensor) const;
  // `input`, to be read while `output` is written; a copy of it where they share memory in another way than the group's
  // operation allows: `own_at` is where the input may lie in the output, in elements (below 0: the output in the
  // input).
  at::Tensor apart(const at::Tensor& input, const at::Tensor& output, std::optional<std::int64_t> own_at);
  // The same for all of a list as one piece, in order.
  const void* read(at::TensorList tensors);
  void* write(at::TensorList tensors);

  // How each of the `parts` equal parts of `whole` is cut into chunks: not, unless a device's copies of one chunk can
  // go beside another on the wire. A function of the size, so the same on every rank.
  std::vector<Slice> slices(const at::Tensor& whole, std::int64_t parts);
  // The elements in a row, to be sliced: of what is read, what is written, what is both.
  at::Tensor row_to_read(const at::Tensor& tensor);
  at::Tensor row_to_write(const at::Tensor& tensor);
  at::Tensor row_to_change(const at::Tensor& tensor);
  // The tensor itself, or slices of that row.
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

  // What is to be asked of the group with the memory that was got since the last call, for the result (else the input)
  // that was told last: a chunk. Called once the Work is made, never when it is not.
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
  Chunk chunk_;  // not called yet
  std::optional<at::Device> place_;
};

}  // namespace railweave::torch_ext
