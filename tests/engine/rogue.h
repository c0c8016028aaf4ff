// A peer that completes the handshake and then sends on its one lane whatever frames the test wants.
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
  // Dials as a new instance. welcome() returns whether the engine accepted it.
  explicit Rogue(const Handle& handle);
  // The same, but `spoil` alters the Hello before it is sent. `spoil_confirm` alters the confirm, which is sent
  // `confirms` times.
  using Spoil = void (*)(engine::Hello& hello);
  Rogue(const Handle& handle, Spoil spoil);
  Rogue(const Handle& handle, Spoil spoil, Spoil spoil_confirm, int confirms);

  bool welcome() const { return answer_.kind == engine::Hello::Kind::welcome; }
  const engine::Hello& answer() const { return answer_; }

  // Queues an OPEN of the next stream, to the handle's listener or another.
  void open() { open_at(target_.listener); }
  void open_at(std::uint64_t listener);
  // Numbers the frame and queues it, with `length` bytes of payload, until flush().
  void say(protocol::FrameHeader frame);
  // Queues an eager message that fills its slot.
  void say_eager(std::uint32_t stream, std::uint16_t slot);
  // Sends what is queued. Returns false if the connection is gone.
  bool flush();
  // Reads what has arrived. Returns the number of OPENEDs so far, refusals included. Acknowledges nothing.
  std::size_t answers();
  // Returns true if the other end closes or resets the connection in time.
  bool is_closed(Nanos within);

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
