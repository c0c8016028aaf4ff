#include "rogue.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/random.h"

namespace railweave::engine_test {

using protocol::FrameHeader;
using protocol::FrameType;

Rogue::Rogue(const Handle& handle) : Rogue(handle, [](engine::Hello&) {}) {}

Rogue::Rogue(const Handle& handle, Spoil spoil)
    : Rogue(
          handle, spoil, [](engine::Hello&) {}, 1) {}

Rogue::Rogue(const Handle& handle, Spoil spoil, Spoil spoil_confirm, int confirms)
    : target_(engine::decode_handle(handle).value()), fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  shake_hands(spoil);
  for (; confirms > 0 && welcome(); --confirms) confirm(spoil_confirm);
}

void Rogue::confirm(Spoil spoil) {
  engine::Hello confirm = engine::confirm_of(answer_);
  spoil(confirm);
  said_ = engine::encode_hello(confirm);
  (void)flush();
}

void Rogue::shake_hands(Spoil spoil) {
  const auto v4 =
      std::ranges::find_if(target_.addresses, [](const auto& a) { return a.address.family == Address::Family::v4; });
  ASSERT_NE(v4, target_.addresses.end());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(v4->port);
  std::memcpy(&address.sin_addr, v4->address.bytes.data(), sizeof address.sin_addr);
  if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
  engine::Hello hello;
  hello.from = random_id();
  hello.to = target_.instance;
  hello.session = 77;
  hello.peer = "rogue pid 1";
  hello.rails.push_back({"lo", 0, {*v4}, false});
  spoil(hello);
  said_ = engine::encode_hello(hello);
  if (!flush()) return;
  std::vector<std::byte> in(engine::kHelloFixedBytes);
  if (recv(fd_.get(), in.data(), in.size(), MSG_WAITALL) != ssize_t(in.size())) return;
  const auto all = engine::hello_bytes(std::span<const std::byte, engine::kHelloFixedBytes>(in.data(), in.size()));
  if (!all.ok()) return;
  in.resize(all.value());
  const auto rest = std::span(in).subspan(engine::kHelloFixedBytes);
  if (recv(fd_.get(), rest.data(), rest.size(), MSG_WAITALL) != ssize_t(rest.size())) return;
  if (auto answer = engine::decode_hello(in); answer.ok()) answer_ = std::move(answer.value());
}

void Rogue::open_at(std::uint64_t listener) {
  say(protocol::OpenFrame{.stream = streams_++, .listener = listener, .rail_mask = 1});
}

void Rogue::say(FrameHeader frame) {
  frame.sequence = sequence_++;
  std::array<std::byte, protocol::kFrameHeaderBytes> bytes;
  protocol::encode(frame, bytes);
  said_.insert(said_.end(), bytes.begin(), bytes.end());
  said_.resize(said_.size() + frame.length);
}

void Rogue::say_eager(std::uint32_t stream, std::uint16_t slot) {
  constexpr std::uint32_t kBytes = 64 * 1024;
  say(protocol::SegmentFrame{
      .stream = stream, .length = kBytes, .message = slot, .size = kBytes, .eager = true, .eager_slot = slot});
}

bool Rogue::flush() {
  for (std::size_t sent = 0; sent < said_.size();) {
    (void)answers();  // reads, or both ends would wait for each other to read
    const ssize_t n = send(fd_.get(), said_.data() + sent, said_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return said_.clear(), false;
    if (n > 0) sent += std::size_t(n);
    if (n > 0) continue;
    pollfd p{fd_.get(), POLLIN | POLLOUT, 0};
    poll(&p, 1, 10);
  }
  said_.clear();
  return true;
}

std::size_t Rogue::answers() {
  if (!welcome()) return 0;
  std::byte chunk[16384];
  for (ssize_t n; (n = recv(fd_.get(), chunk, sizeof chunk, MSG_DONTWAIT)) > 0;)
    heard_.insert(heard_.end(), chunk, chunk + n);
  std::size_t at = 0;
  while (heard_.size() - at >= protocol::kFrameHeaderBytes) {
    const auto frame = protocol::decode(protocol::ConstHeaderBytes(heard_.data() + at, protocol::kFrameHeaderBytes));
    if (!frame.ok() || heard_.size() - at < protocol::kFrameHeaderBytes + frame.value().length) break;
    answers_ += frame.value().type == FrameType::opened;
    at += protocol::kFrameHeaderBytes + frame.value().length;
  }
  heard_.erase(heard_.begin(), heard_.begin() + std::ptrdiff_t(at));
  return answers_;
}

bool Rogue::is_closed(Nanos within) {
  const TimePoint deadline = now() + within;
  while (now() < deadline) {
    pollfd p{fd_.get(), POLLIN, 0};
    char sink[4096];
    if (poll(&p, 1, 50) <= 0) continue;
    if (const ssize_t n = recv(fd_.get(), sink, sizeof sink, MSG_DONTWAIT); n == 0 || (n < 0 && errno != EAGAIN))
      return true;
  }
  return false;
}

}  // namespace railweave::engine_test
