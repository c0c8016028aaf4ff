#include "between.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace railweave::engine_test {

OwnedFd probe_at(const engine::HandleContent& handle) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto v4 =
      std::ranges::find_if(handle.addresses, [](const auto& a) { return a.address.family == Address::Family::v4; });
  if (v4 == handle.addresses.end()) return ADD_FAILURE() << "no IPv4 address", OwnedFd();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(v4->port);
  std::memcpy(&address.sin_addr, v4->address.bytes.data(), sizeof address.sin_addr);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  return ADD_FAILURE() << "nobody there", OwnedFd();
}

Between::Between(const Handle& acceptor, Alter alter)
    : alter_(std::move(alter)),
      acceptor_(engine::decode_handle(acceptor).value()),
      self_(acceptor_),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof here;
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), length) != 0 || listen(listener_.get(), 64) != 0)
    return;
  getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &length);
  Address loopback{.family = Address::Family::v4, .prefix_bits = 8};
  loopback.bytes = {127, 0, 0, 1};
  self_.addresses = {{loopback, ntohs(here.sin_port)}};
  thread_ = std::thread([this] { serve(); });
}

Between::~Between() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

Handle Between::handle() const { return engine::encode_handle(self_); }

Bytes Between::said_by_dialler() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

void Between::serve() {
  while (!stop_) {
    std::vector<pollfd> waiting{{listener_.get(), POLLIN, 0}};
    for (const auto& pair : pairs_) {
      waiting.push_back({pair->dialler.get(), POLLIN, 0});
      waiting.push_back({pair->acceptor.get(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), 5) <= 0) continue;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const bool said = !waiting[1 + 2 * i].revents || pass(*pairs_[i], true);
      const bool answered = !waiting[2 + 2 * i].revents || pass(*pairs_[i], false);
      if (said && answered) continue;
      pairs_[i].reset();
      recording_ = recording_ && i > 0;
    }
    std::erase(pairs_, nullptr);
    if (waiting.front().revents) let_in();
  }
}

void Between::let_in() {
  OwnedFd dialler(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (dialler) pairs_.push_back(std::make_unique<Pair>(Pair{std::move(dialler), probe_at(acceptor_)}));
}

// Forwards what one end sent. Returns false if either end is gone.
bool Between::pass(Pair& pair, bool from_dialler) {
  std::array<std::byte, 16384> chunk;
  const int from = (from_dialler ? pair.dialler : pair.acceptor).get(),
            to = (from_dialler ? pair.acceptor : pair.dialler).get();
  const ssize_t n = recv(from, chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (n <= 0) return false;
  const auto bytes = std::span(chunk).first(std::size_t(n));
  std::size_t& at = from_dialler ? pair.said : pair.answered;
  if (alter_) alter_(from_dialler, at, bytes);
  at += bytes.size();
  if (from_dialler && recording_ && &pair == pairs_.front().get()) {
    const std::lock_guard lock(mutex_);
    recorded_.insert(recorded_.end(), bytes.begin(), bytes.end());
  }
  return send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL) == n;
}

}  // namespace railweave::engine_test
