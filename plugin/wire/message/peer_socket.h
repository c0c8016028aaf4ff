// The connection of the handshake, beside a message lane: it shows that the peer's process has ended, and whether the
// peer's kernel answers on the path of the lane. The devices below a message lane report neither, or only seconds
// later.
// Threads: the lane's.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "wire/bootstrap/lane_acks.h"
#include "wire/wire.h"

namespace railweave::wire::message {

class PeerSocket {
 public:
  // `socket`: connected and non-blocking, its handshake read.
  explicit PeerSocket(OwnedFd socket);

  int descriptor() const { return socket_.get(); }
  const std::string& local() const { return local_; }  // addresses, for messages and metrics
  const std::string& remote() const { return remote_; }

  // Sends the byte that says that this end's channel is connected. False: not sent; the connection may have ended.
  bool send_ready();
  // Reads what came, up to 1 KiB; one system call if that is nothing. The next two know what was read.
  void read();
  bool is_peer_ready() const { return is_peer_ready_; }           // the peer's byte came
  const std::optional<LaneEnd>& ended() const { return ended_; }  // how the connection ended; none: it stands

  // `owes`: a block was sent whose slot is not given back. The peer's kernel is then asked for an answer: by a byte for
  // each call, until several are unanswered. Costs one system call or two. If the socket is not TCP, the peer's kernel
  // always answers.
  AckStatus ack_status(TimePoint now, bool owes);

 private:
  OwnedFd socket_;
  std::string local_, remote_;
  bool is_peer_ready_ = false;
  std::optional<LaneEnd> ended_;
  LaneAcks acks_;
};

}  // namespace railweave::wire::message
