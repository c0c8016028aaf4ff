// The credit of a message lane's two rings: which blocks this end may send, and when this end must tell the peer which
// slots are free again. A block is sent only if a free slot waits for it at the peer, so no device ever has to refuse
// one.
//
// Blocks of the stream leave the last kReserve slots free. Only a block without stream, which carries credit alone, may
// take those. So two ends that both used up their credit can still tell each other of free slots. Where blocks may be
// lost, one more slot stays free, for a block that asks for an answer.
//
// Pure. Threads: the lane's.
#pragma once

#include <cstdint>

#include "railweave/status.h"

namespace railweave::wire::message {

class RingCredit {
 public:
  static constexpr std::uint32_t kReserve = 2;     // slots
  static constexpr std::uint32_t kSlotsLeast = 8;  // of a ring; fewer are no ring

  // The number of receive slots at the peer and here. REQUIRES: both are at least kSlotsLeast. `asks`: this end may
  // ask.
  RingCredit(std::uint32_t peer_slots, std::uint32_t own_slots, bool asks = false)
      : peer_slots_(peer_slots), own_slots_(own_slots), for_questions_(asks ? 1 : 0) {}

  // --- sending
  bool may_send_stream() const { return unreturned() + kReserve + for_questions_ < peer_slots_; }
  bool may_ask() const { return for_questions_ > 0 && unreturned() + kReserve < peer_slots_; }
  bool may_send_credit() const { return unreturned() < peer_slots_; }
  std::uint64_t next_number() const { return sent_; }
  // Returns the number of slots given back, for the prefix of the next block. REQUIRES: may_send_...().
  std::uint32_t next_returned() const { return std::uint32_t(given_back_); }
  // The next block was sent with next_returned().
  void sent();

  // --- receiving
  // A block that arrived says this. Blocks may arrive in any order: an older statement changes nothing.
  // Errors: Code::remote if the statement is impossible.
  Status peer_says(std::uint32_t returned);
  std::uint64_t returned_by_peer() const { return returned_; }  // blocks that we sent
  // This end gave the slot of the next block back to its device. `has_stream`: the block carried some. `asks`: the
  // block asked for an answer.
  void gave_back(bool has_stream, bool asks = false);
  // True: tell the peer now, by a block without stream if no other is to be sent. `idle`: nothing else arrives at
  // present, so the peer may be waiting for the last blocks to be acknowledged.
  bool owes_statement(bool idle) const;
  bool owes_answer() const { return answer_owed_; }  // the next block is one

 private:
  std::uint64_t unreturned() const { return sent_ - returned_; }

  const std::uint32_t peer_slots_, own_slots_, for_questions_;
  std::uint64_t sent_ = 0;                   // blocks that this end sent
  std::uint64_t returned_ = 0;               // of those: slots that the peer gave back, as far as known
  std::uint64_t given_back_ = 0, told_ = 0;  // slots that this end gave back; as the peer was told last
  bool stream_untold_ = false;               // a slot given back since then carried stream
  bool answer_owed_ = false;                 // a slot given back since then carried a block that asks
};

}  // namespace railweave::wire::message
