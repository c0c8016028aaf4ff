// FrameRules checks the frames of one stream against its own records, apart from those of the protocol: grants,
// acknowledgements and eager slots. The caller reports every frame that an end takes, writes or consumes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "protocol/frame.h"
#include "railweave/endpoint.h"

namespace railweave::sim {

class FrameRules {
 public:
  using Wrong = std::function<void(const std::string&)>;
  FrameRules(std::size_t eager_limit_bytes, Wrong wrong)
      : eager_limit_bytes_(eager_limit_bytes), wrong_(std::move(wrong)) {}

  // --- at the sender's end
  void opened_as(Priority priority) { priority_ = priority; }
  void send_posted(std::uint64_t size, std::uint64_t tag);
  void sender_takes(const protocol::FrameHeader& segment);
  void sender_wrote(const protocol::FrameHeader& segment);  // the kernel has the segment
  void sender_hears(const protocol::FrameHeader& control);
  // The send of this message ended.
  void send_ends(std::uint64_t message);

  // --- at the receiver's end
  void receive_posted(std::uint64_t capacity);
  void receiver_meets(const protocol::FrameHeader& segment);  // the header arrived
  void receiver_has(const protocol::FrameHeader& segment);
  void receiver_takes(const protocol::FrameHeader& control);
  void receiver_wrote(const protocol::FrameHeader& control);
  void acks_waived() { waived_ = whole_; }
  // The receive of this message ended.
  void receive_ends(std::uint64_t message);

 private:
  struct Message {
    std::uint64_t size = 0, tag = 0, capacity = 0;
    std::uint64_t written = 0, arrived = 0;  // bytes that are sent again count again
    std::uint16_t slot = 0;
    bool eager_out = false, handed_over = false, eager_in = false, whole = false, granted = false;
  };
  // Returns the record of a message; an empty record for a message that was over long ago.
  Message& at(std::uint64_t message);
  void forget_old();
  void check_eager(const protocol::FrameHeader& segment, Message& message);

  const std::size_t eager_limit_bytes_;
  Priority priority_ = Priority::normal;
  const Wrong wrong_;
  std::deque<Message> messages_;  // from forgotten_ on
  std::uint64_t forgotten_ = 0;
  Message old_;
  std::uint64_t sends_ = 0, receives_ = 0;
  std::uint64_t acked_ = 0;  // messages from the first on whose acknowledgement the sender consumed
  std::uint64_t whole_ = 0;  // messages from the first on that arrived whole and have a receive
  std::uint64_t ack_written_ = 0, waived_ = 0;
  std::uint64_t ended_ = 0;  // receives that ended
  bool opened_ = false;
};

}  // namespace railweave::sim
