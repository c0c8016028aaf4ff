#include "nccl/net/connecting.h"

#include <cstring>

#include "base/random.h"

namespace railweave::nccl {
namespace {

struct Mark {
  std::uint64_t attempt;  // the Attempt's address; looked up, never dereferenced
  std::uint64_t nonce;
};
static_assert(sizeof(Mark) == kHandleBytes - kHandleFixedBytes);

Mark read_mark(const void* handle) {
  Mark mark;
  std::memcpy(&mark, static_cast<const std::byte*>(handle) + kHandleFixedBytes, sizeof mark);
  return mark;
}

void write_mark(void* handle, const Mark& mark) {
  std::memcpy(static_cast<std::byte*>(handle) + kHandleFixedBytes, &mark, sizeof mark);
}

std::uint64_t fresh_nonce() {
  const auto id = random_id();
  std::uint64_t nonce;
  std::memcpy(&nonce, id.data(), sizeof nonce);
  return nonce | 1;  // never zero: zero bytes mean "no attempt yet"
}

Result<Attempt*> begin(Context& context, int dev, int traffic_class, void* handle) {
  Handle copy;
  std::memcpy(copy.data(), handle, copy.size());
  auto connector = context.engine().connect(dev, copy, traffic_class);
  if (!connector.ok()) return connector.status();
  Attempt* const attempt = Library::get().add<Attempt>(&context, std::move(connector.value()), fresh_nonce());
  write_mark(handle, {reinterpret_cast<std::uintptr_t>(attempt), attempt->nonce});
  return attempt;
}

Result<Attempt*> resume(Context& context, const Mark& mark) {
  Attempt* const attempt = Library::get().find<Attempt>(reinterpret_cast<const void*>(mark.attempt));
  if (attempt && attempt->nonce == mark.nonce && attempt->owner == &context) return attempt;
  return Status(Code::invalid_argument, Scope::stream,
                "connect: bytes 112 to 127 of the handle name no connect in progress here; expected zero at the first "
                "call (was the handle copied after its first use, or damaged?)");
}

}  // namespace

Result<std::unique_ptr<SendStream>> connect_or_poll(Context& context, int dev, int traffic_class, void* handle) {
  const Mark mark = read_mark(handle);
  const bool first = mark.attempt == 0 && mark.nonce == 0;
  const auto attempt = first ? begin(context, dev, traffic_class, handle) : resume(context, mark);
  if (!attempt.ok()) return attempt.status();
  auto stream = attempt.value()->connector->poll();
  if (stream.ok() && !stream.value()) return stream;
  write_mark(handle, {});
  Library::get().take<Attempt>(attempt.value());
  return stream;
}

}  // namespace railweave::nccl
