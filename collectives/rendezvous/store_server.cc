#include "collectives/rendezvous/store_server.h"

#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/named_socket.h"
#include "base/service_thread.h"

namespace railweave::collectives {

Result<StoreServer::Ptr> StoreServer::start(const std::string& host, std::uint16_t port) {
  std::uint16_t served = 0;
  auto listening = listen_at(host, port, served);
  if (!listening.ok()) {
    const Status why = listening.status();
    const char* const hint = why.system_errno() == EADDRINUSE
                                 ? " (by another job at the same address and port, or a connection that just ended?)"
                                 : "";
    return Status(why.code(), why.scope(), "the store that rank 0 keeps: " + why.message() + hint, why.system_errno());
  }
  OwnedFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) return system_error(Scope::engine, "eventfd");
  Ptr server(new StoreServer(std::move(*listening), std::move(stop), served));
  RW_TRY(start_service_thread(server->thread_, "railweave-store", [s = server.get()] { s->loop(); }));
  return server;
}

StoreServer::StoreServer(OwnedFd listener, OwnedFd stop, std::uint16_t port)
    : listener_(std::move(listener)), stop_(std::move(stop)), port_(port) {}

void StoreServer::End::operator()(StoreServer* server) const {
  if (!server->origin_.in_child()) return delete server;
  // A child has no server thread, and fork may have interrupted the parent's at any point. A write to `stop_` would end
  // the parent's thread. The rest is leaked.
  server->listener_.reset();
  server->stop_.reset();
}

StoreServer::~StoreServer() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void StoreServer::loop() {
  for (;;) {
    std::vector<pollfd> watched{{stop_.get(), POLLIN, 0}, {listener_.get(), short(accepts() ? POLLIN : 0), 0}};
    for (const Client& c : clients_)
      watched.push_back({c.fd.get(), short(POLLIN | (c.outbox.empty() ? 0 : POLLOUT)), 0});
    if (::poll(watched.data(), watched.size(), timeout_ms()) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return send_news({StoreNews::Kind::ended, "", ""});
    auto seen = watched.begin() + 2;
    for (Client& c : clients_) {
      if (seen->revents & POLLOUT) write_out(c);
      if (seen->revents & (POLLIN | POLLHUP | POLLERR)) receive(c);
      ++seen;
    }
    if (watched[1].revents != 0) accept_clients();
    give_up_late_gets();
    std::erase_if(claims_, [](const auto& held) { return held.second.holder->closed; });
    clients_.remove_if([](const Client& c) { return c.closed; });
  }
}

void StoreServer::accept_clients() {
  OwnedFd fd;
  if (clients_.size() < kClientsMax || make_place()) {
    const auto accept = [&] { fd.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)); };
    accept();
    if (!fd && (errno == EMFILE || errno == ENFILE) && make_place()) accept();
    if (!fd && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)) return;
  }
  if (!fd) accepts_again_ = now() + kAcceptPause;
  if (fd) clients_.emplace_back().fd = std::move(fd);
}

// Closes the oldest client that has sent no request: a rank sends its first request at once, so that client is likely
// foreign.
bool StoreServer::make_place() {
  const auto silent = std::ranges::find_if(clients_, [](const Client& c) { return !c.spoke && !c.closed; });
  if (silent == clients_.end()) return false;
  silent->fd.reset();
  silent->closed = true;
  return true;
}

void StoreServer::receive(Client& client) {
  char part[16 * 1024];
  const ssize_t n = ::recv(client.fd.get(), part, sizeof part, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    client.closed = true;
    return;
  }
  client.inbox.append(part, std::size_t(n));
  while (!client.closed) {
    const std::optional<std::string> frame = take_frame(client.inbox);
    if (!frame) break;
    const std::optional<StoreRequest> request = decode(*frame);
    client.spoke |= request.has_value();
    request ? serve(client, *request) : void(client.closed = true);
  }
  if (impossible(client.inbox)) client.closed = true;
}

void StoreServer::serve(Client& client, const StoreRequest& request) {
  switch (request.kind) {
    case StoreRequest::Kind::set: set(request); return answer(client, true, "");
    case StoreRequest::Kind::publish:
      set(request);
      published_.insert(request.key);
      send_news(
          {StoreNews::Kind::published, request.key, request.value});  // before the publisher continues and may end
      return answer(client, true, "");
    case StoreRequest::Kind::claim: return answer(client, claim(client, request.key), "");
    case StoreRequest::Kind::release: return release(client, request.key);
    case StoreRequest::Kind::remove:
      values_.erase(request.key);
      if (published_.erase(request.key) > 0) send_news({StoreNews::Kind::withdrawn, request.key, ""});
      return answer(client, true, "");
    case StoreRequest::Kind::get:
      if (const auto it = values_.find(request.key); it != values_.end()) return answer(client, true, it->second);
      client.waits_for = request.key;
      client.gives_up = now() + std::chrono::milliseconds(request.timeout_ms);
      client.waiting = true;
  }
}

bool StoreServer::claim(const Client& client, const std::string& key) {
  Claim& held = claims_[key];
  if (held.holder != nullptr && held.holder != &client && !held.holder->closed) return false;
  held = {&client, held.holder == &client ? held.times + 1 : 1};
  return true;
}

void StoreServer::release(const Client& client, const std::string& key) {
  const auto it = claims_.find(key);
  if (it == claims_.end() || it->second.holder != &client) return;
  if (--it->second.times == 0) claims_.erase(it);
}

void StoreServer::set(const StoreRequest& request) {
  values_[request.key] = request.value;
  for (Client& c : clients_)
    if (c.waiting && c.waits_for == request.key) answer(c, true, request.value);
}

void StoreServer::send_news(const StoreNews& news) {
  for (Client& c : clients_) {
    c.outbox += encode(news);
    write_out(c);
  }
}

void StoreServer::answer(Client& client, bool found, const std::string& value) {
  client.waiting = false;
  client.outbox += encode_answer(found, value);
  write_out(client);
}

void StoreServer::write_out(Client& client) {
  while (!client.outbox.empty()) {
    const ssize_t n = ::send(client.fd.get(), client.outbox.data(), client.outbox.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno != EAGAIN || client.outbox.size() > kOutboxBytesMax)) client.closed = true;
    if (n < 0) return;
    client.outbox.erase(0, std::size_t(n));
  }
}

void StoreServer::give_up_late_gets() {
  const TimePoint t = now();
  for (Client& c : clients_)
    if (c.waiting && c.gives_up <= t) answer(c, false, "");
}

bool StoreServer::accepts() const { return now() >= accepts_again_; }

int StoreServer::timeout_ms() const {
  TimePoint first = accepts_again_ > now() ? accepts_again_ : TimePoint::max();
  for (const Client& c : clients_)
    if (c.waiting) first = std::min(first, c.gives_up);
  if (first == TimePoint::max()) return -1;
  return int(std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(first - now()).count(), 0, 60'000));
}

}  // namespace railweave::collectives
