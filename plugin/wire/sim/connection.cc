#include "wire/sim/connection.h"

#include <fmt/format.h>

#include "wire/sim/lane.h"
#include "wire/sim/link.h"
#include "wire/sim/network.h"

namespace railweave::wire {

SimEnd::SimEnd(SimNetwork& net, SimLink& link, SimConnection& connection, int number)
    : out(net, link, connection, number), sending(out, link.spec().send_buffer_bytes) {}

SimConnection::SimConnection(SimNetwork& net, SimLink& first, SimLink& second, std::uint64_t number)
    : net_(net),
      links_{&first, &second},
      number_(number),
      ends_{SimEnd(net, first, *this, 0), SimEnd(net, second, *this, 1)} {}

std::shared_ptr<SimConnection> SimConnection::make(SimNetwork& net, SimLink& first, SimLink& second,
                                                   std::uint64_t number) {
  std::shared_ptr<SimConnection> c(new SimConnection(net, first, second, number));
  for (int i : {0, 1}) {
    SimConnection* self = c.get();  // the connection owns its ends
    c->end(i).heard_at = net.now();
    c->end(i).receiving.was_read = [self, i](std::size_t bytes) { self->end(1 - i).out.was_read(bytes); };
  }
  first.add(c);
  if (&first != &second) second.add(c);
  if (first.is_cut() || second.is_cut()) c->lose("link down");
  return c;
}

Nanos SimConnection::delay() const {
  return links_[0] == links_[1] ? links_[0]->spec().delay : links_[0]->spec().delay + links_[1]->spec().delay;
}

void SimConnection::deliver(int from, std::function<void()> what) {
  if (links_[0] == links_[1]) return links_[0]->deliver(from, std::move(what));
  SimLink &out = link(from), &in = link(1 - from);
  if (out.is_open(0) && in.is_open(1)) return what();
  out.deliver(0, [&in, what = std::move(what)]() mutable { in.deliver(1, std::move(what)); });
}

void SimConnection::send_word(int from, std::function<void()> what) {
  net_.after(delay(), [c = shared_from_this(), from, what = std::move(what)] { c->deliver(from, what); });
}

TimePoint SimConnection::now() const { return net_.now(); }

TimePoint SimConnection::draw_end(int i) {
  const Nanos takes(std::int64_t(net_.random_below(std::uint64_t(link(i).spec().ending_most.count()) + 1)));
  net_.after(takes, [c = shared_from_this(), i] { c->wake(i); });
  return net_.now() + takes;
}

void SimConnection::heard(int i) { end(i).heard_at = net_.now(); }

void SimConnection::probe(int i) {
  net_.after(delay(), [c = shared_from_this(), i] {
    c->deliver(i, [c, i] {
      if (!c->end(1 - i).lane) return c->reset_soon(i);
      c->heard(1 - i);
      c->net_.after(c->delay(), [c, i] { c->deliver(1 - i, [c, i] { c->heard(i); }); });
    });
  });
}

std::string SimConnection::name(int end) const { return fmt::format("sim-{}:{}", end == 0 ? "a" : "b", number_); }

void SimConnection::opened(int i, SimLane& lane) {
  end(i).lane = &lane;
  if (!end(i).lost.ok()) wake(i);
}

void SimConnection::closed(int i) {
  SimEnd& gone = end(i);
  gone.lane = nullptr;
  gone.sending.abandon();
  if (gone.receiving.unread()) {
    gone.out.drop_unsent();
    reset_soon(1 - i);
  }
}

void SimConnection::reset_soon(int i) {
  net_.after(delay(),
             [c = shared_from_this(), i] { c->deliver(1 - i, [c, i] { c->lose_end(i, "reset by the peer"); }); });
}

void SimConnection::lose(const char* why) {
  for (int i : {0, 1}) lose_end(i, why);
}

void SimConnection::lose_end(int i, const char* why) {
  if (!end(i).lost.ok()) return;
  end(i).lost = Status(Code::remote, Scope::lane,
                       fmt::format("rail {}: {} to {}: {}", link(i).spec().name, name(i), name(1 - i), why));
  for (SimEnd& e : ends_) e.out.stop();
  wake(i);
}

bool SimConnection::arrived(int i, const SimPiece& piece) {
  heard(i);
  if (!end(i).lane) {
    if (piece.kind != CargoKind::end) reset_soon(1 - i);
    return false;
  }
  end(i).receiving.arrived(piece);
  wake(i);
  return true;
}

void SimConnection::acknowledged(int i) { wake(i); }

void SimConnection::wake(int i) {
  if (!end(i).lane || end(i).wake_coming) return;
  end(i).wake_coming = true;
  net_.after(Nanos(0), [c = shared_from_this(), i] {
    c->end(i).wake_coming = false;
    SimLane* lane = c->end(i).lane;
    if (lane && lane->on_ready) lane->on_ready(*lane);
  });
}

}  // namespace railweave::wire
