// A channel carries blocks between two ends: a queue pair (verbs), an endpoint (ofi), or a fake in tests. A block is a
// message of one slot at most. A MessageLane (lane.h) makes a byte stream of frames out of blocks.
//
// The channel owns its slots: memory that the device reads and writes. It never touches other memory, so a lane over a
// channel touches memory of callers only inside read() and write() (docs/internals/message_wires.md, "Ends").
// Blocks arrive once, or the channel fails; may_lose_blocks() is the exception. The order of arrival is free.
//
// Lifetime: the destructor does not block. Where the device still holds slots, the channel passes them on to an owner
// that outlives it. Threads: as a lane's (wire/wire.h). No call blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "railweave/status.h"
#include "wire/wire.h"

namespace railweave::wire::message {

struct ChannelShape {
  std::uint32_t slot_bytes = 0;     // of a slot, in both directions
  std::uint32_t receive_slots = 0;  // blocks that may arrive before one is given back

  friend bool operator==(const ChannelShape&, const ChannelShape&) = default;
};

// A block that arrived.
struct Arrival {
  std::uint32_t slot = 0;   // index of its receive slot, below receive_slots
  std::uint32_t bytes = 0;  // at most slot_bytes
};

class Channel {
 public:
  virtual ~Channel() = default;
  virtual ChannelShape shape() const = 0;

  // --- Connecting. Data that the peer's connect() needs; at most kAddressBytesMax.
  virtual std::vector<std::byte> address() const = 0;
  // Begins to connect. `peer`: address() of the peer's channel.
  // Errors: Code::remote (not an address of this kind), system.
  virtual Status connect(std::span<const std::byte> peer) = 0;
  // True: send() may be called, and blocks of the peer arrive. REQUIRES: connect() was ok. Errors: as poll().
  virtual Result<bool> is_connected() = 0;

  // --- Sending, in order
  // Returns the slot of the next block; empty: every slot is in use, and poll() frees them.
  virtual std::span<std::byte> next_slot() = 0;
  // Sends the first `bytes` bytes of next_slot(). False: not now; call poll(), then send() again with the same bytes.
  // REQUIRES: next_slot() is not empty. Errors: as poll().
  virtual Result<bool> send(std::size_t bytes) = 0;
  // As send(). The block counts as left only when the peer's device has it. If it is lost, the channel fails.
  virtual Result<bool> send_surely(std::size_t bytes) { return send(bytes); }
  // True: blocks sent by send() may be lost without an error. Blocks then arrive in the order in which they were sent,
  // so that the next one shows the loss.
  virtual bool may_lose_blocks() const { return false; }
  // Number of blocks that left since the beginning: the oldest ones, whose slots are free again. Changed by poll().
  virtual std::uint64_t left() const = 0;

  // --- Receiving
  // Writes what arrived to `arrivals` and returns the number. Call again while the number is arrivals.size().
  // Errors, each final: Code::remote (the peer or the path failed), Code::system (this host failed).
  virtual Result<std::size_t> poll(std::span<Arrival> arrivals) = 0;
  // The memory of an arrived block, until give_back().
  virtual std::span<const std::byte> slot(std::uint32_t index) const = 0;
  // Lets the device receive into the slot again. False: not now; call poll(), then try again. Errors: as poll().
  virtual Result<bool> give_back(std::uint32_t index) = 0;
  // The cause of the first error. Meaningful after an error.
  virtual LaneEnd why_failed() const = 0;

  // --- Waiting
  // A descriptor, the same for the channel's lifetime. -1: none; poll the channel by time.
  virtual int descriptor() const = 0;
  // True: the descriptor becomes readable when poll() has news. False: poll() has news now.
  virtual bool prepare_to_wait() = 0;
};

inline constexpr std::size_t kAddressBytesMax = 128;

}  // namespace railweave::wire::message
