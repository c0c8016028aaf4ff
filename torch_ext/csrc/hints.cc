#include "torch_ext/csrc/hints.h"

#include <utility>

namespace railweave::torch_ext {
namespace {

thread_local collectives::Hints said;

}  // namespace

collectives::Hints hints_of_this_thread() { return said; }

Priority set_priority(Priority priority) { return std::exchange(said.priority, priority); }

}  // namespace railweave::torch_ext
