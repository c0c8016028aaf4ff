// Small blocking messages between two ranks over a socket, beside the plugin, like those of NCCL's bootstrap.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/fd.h"

namespace railweave::nccl_test {

class Channel {
 public:
  explicit Channel(OwnedFd socket) : socket_(std::move(socket)) {}

  // Returns two connected ends. Neither is close-on-exec, so that a child can inherit one.
  static std::pair<Channel, Channel> pair();
  // Rank 0 listens at `port` of every address. Rank 1 connects to host:port, and retries for 20 s.
  static Channel over_tcp(int rank, const std::string& host, const std::string& port);

  // Both throw Failure if the peer is gone; receive() also if nothing arrives for 120 s.
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
