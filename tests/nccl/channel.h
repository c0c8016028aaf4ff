// How two ranks talk beside the plugin, as NCCL's bootstrap does: small blocking messages over a socket.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/fd.h"

namespace railweave::nccl_test {

class Channel {
 public:
  explicit Channel(OwnedFd socket) : socket_(std::move(socket)) {}

  // Two ends in this process (or, by inheritance, in a child: not close-on-exec).
  static std::pair<Channel, Channel> pair();
  // Rank 0 listens at `port` of every address, rank 1 connects to host:port, retrying for 20 s.
  static Channel over_tcp(int rank, const std::string& host, const std::string& port);

  // Both throw Failure when the peer is gone or nothing came within 120 s.
  void send(const std::string& bytes);
  std::string receive();

  std::string exchange(const std::string& mine) {
    send(mine);
    return receive();
  }
  void barrier() { exchange("barrier"); }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  void read_exactly(std::span<std::byte> into);
  void write_all(std::span<const std::byte> from);
  OwnedFd socket_;
};

}  // namespace railweave::nccl_test
