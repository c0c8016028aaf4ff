#include "engine/connect/unconfirmed_lanes.h"

#include <cassert>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace railweave::engine {
namespace {

bool same_session(const Hello& a, const Hello& b) {
  return a.from == b.from && a.session == b.session && a.traffic_class == b.traffic_class;
}

// Returns what is wrong with a confirm of the lane of `hello`; null: nothing.
const char* what_is_wrong(const Hello& confirm, const Hello& hello) {
  if (confirm.kind != Hello::Kind::confirm) return "another message, expected a confirm";
  if (!same_session(confirm, hello) || confirm.lane != hello.lane) return "a confirm of another lane";
  return nullptr;
}

}  // namespace

void UnconfirmedLanes::add(Handshake::Outcome welcomed, Entry entry) {
  if (waiting_.size() >= kMost) waiting_.erase(waiting_.begin());
  const std::uint64_t number = next_++;
  auto handshake =
      Handshake::await_confirm(reactor_, welcomed, now() + kTime,
                               [this, number](Handshake::Outcome outcome) { on_confirm(number, std::move(outcome)); });
  waiting_.emplace(number, Waiting{std::move(entry), std::move(handshake)});
}

void UnconfirmedLanes::on_confirm(std::uint64_t number, Handshake::Outcome outcome) {
  auto node = waiting_.extract(number);  // lives until this call returns
  assert(!node.empty());
  Entry& entry = node.mapped().entry;
  const char* const wrong = outcome.status.ok() ? what_is_wrong(outcome.hello, entry.hello) : nullptr;
  // A dialler tries several ways at once and closes all but one.
  if (entry.hello.kind == Hello::Kind::first && outcome.status.code() == Code::remote && !wrong) return;
  if (!outcome.status.ok() || wrong) {
    RW_INFO(net, "lane {} of {} is not confirmed: {}", entry.hello.lane, entry.hello.peer,
            wrong ? outcome.what + ": " + wrong : outcome.status.message());
    return;
  }
  entry.lane.bootstrap.fd = std::move(outcome.fd);
  confirmed_(std::move(entry));
}

const UnconfirmedLanes::Entry* UnconfirmedLanes::first_of(const Hello& join) const {
  for (const auto& [number, waiting] : waiting_)
    if (waiting.entry.hello.kind == Hello::Kind::first && same_session(waiting.entry.hello, join))
      return &waiting.entry;
  return nullptr;
}

}  // namespace railweave::engine
