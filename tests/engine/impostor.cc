#include "impostor.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "base/random.h"

namespace railweave::engine_test {
namespace {

bool read_whole(int fd, std::vector<std::byte>& message, std::size_t bytes) {
  const std::size_t have = message.size();
  message.resize(bytes);
  return recv(fd, message.data() + have, bytes - have, MSG_WAITALL) == ssize_t(bytes - have);
}

}  // namespace

Impostor::Impostor(Answer answer)
    : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof here;
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), length) != 0 || listen(listener_.get(), 64) != 0)
    return;
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &length);
  Address loopback{.family = Address::Family::v4, .prefix_bits = 8};
  loopback.bytes = {127, 0, 0, 1};
  self_ = {random_id(), 1, {{loopback, ntohs(here.sin_port)}}};
  thread_ = std::thread([this] { serve(); });
}

Impostor::~Impostor() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Handle Impostor::handle() const { return engine::encode_handle(self_); }

void Impostor::serve() {
  while (!stop_) {
    pollfd p{listener_.get(), POLLIN, 0};
    if (poll(&p, 1, 5) <= 0) continue;
    if (OwnedFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); fd) greet(std::move(fd));
  }
}

void Impostor::say(const protocol::FrameHeader& frame) {
  std::array<std::byte, protocol::kFrameHeaderBytes> bytes;
  protocol::encode(frame, bytes);
  (void)send(connections_.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void Impostor::greet(OwnedFd fd) {
  std::vector<std::byte> message;
  if (!read_whole(fd.get(), message, engine::kHelloFixedBytes)) return;
  const auto whole = engine::hello_bytes(
      std::span<const std::byte, engine::kHelloFixedBytes>(message.data(), engine::kHelloFixedBytes));
  if (!whole.ok() || !read_whole(fd.get(), message, whole.value())) return;
  const auto said = engine::decode_hello(message);
  if (!said.ok()) return;
  engine::Hello answer = said.value();
  answer.kind = engine::Hello::Kind::welcome;
  answer.from = self_.instance;
  answer.to = said.value().from;
  answer.peer = "the impostor";
  answer.rails = {{"lo", 10'000, self_.addresses, false}};
  answer.remote_rail = 0;
  ++handshakes_;
  if (!answer_(said.value(), answer)) return;
  const auto bytes = engine::encode_hello(answer);
  if (send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == ssize_t(bytes.size()))
    connections_.push_back(std::move(fd));
  // The dialler sends its confirm and frames next: the impostor reads neither.
}

}  // namespace railweave::engine_test
