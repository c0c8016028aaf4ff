// A peer that shakes hands as it should, and then says on its one lane whatever the test wants it to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/fd.h"
#include "engine/connect/hello.h"
#include "protocol/frame_fields.h"
#include "railweave/endpoint.h"

namespace railweave::engine_test {

class Rogue {
 public:
  // Comes as an instance that was never there before; welcome() tells whether it was let in.
  explicit Rogue(const Handle& handle);
  // The same, with a handshake to be spoilt first; and with a confirm to be spoilt, or none.
  using Spoil = void (*)(engine::Hello& hello);
  Rogue(const Handle& handle, Spoil spoil);
  Rogue(const Handle& handle, Spoil spoil, Spoil spoil_confirm, int confirms);

  bool welcome() const { return answer_.kind == engine::Hello::Kind::welcome; }
  const engine::Hello& answer() const { return answer_; }

  // An OPEN of the next stream, to the handle's listener or another.
  void open() { open_at(target_.listener); }
  void open_at(std::uint64_t listener);
  // Numbers the frame and keeps it, with `length` bytes of payload, until flush().
  void say(protocol::FrameHeader frame);
  // An eager message that fills its slot.
  void say_eager(std::uint32_t stream, std::uint16_t slot);
  // False: the connection is gone.
  bool flush();
  // Reads what came meanwhile: OPENEDs so far, those that refuse included. Acknowledges nothing.
  std::size_t answers();
  // Until the other end closes or resets.
  bool shown_out(Nanos within);

 private:
  void shake_hands(Spoil spoil);
  void confirm(Spoil spoil);

  const engine::HandleContent target_;
  OwnedFd fd_;
  engine::Hello answer_;
  std::uint32_t streams_ = 0, sequence_ = 0;
  std::vector<std::byte> said_, heard_;
  std::size_t answers_ = 0;
};

}  // namespace railweave::engine_test
