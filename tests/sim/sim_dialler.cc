#include "tests/sim/sim_dialler.h"

#include <algorithm>
#include <utility>

#include "engine/connect/unconfirmed_lanes.h"

namespace railweave::sim {
namespace {

using Kind = engine::JoinAnswer::Kind;

engine::JoinAnswer answer(Kind kind, std::string why) {
  return {.kind = kind, .remote_rail = 0, .why = std::move(why)};
}

}  // namespace

class SimDialler::SimJoin final : public engine::Join {
 public:
  SimJoin(SimDialler& dialler, std::shared_ptr<Handshake> handshake)
      : dialler_(dialler), handshake_(std::move(handshake)) {}
  ~SimJoin() override {
    handshake_->answered = nullptr;
    handshake_->near.reset();
    dialler_.forget_closed();
  }
  Status take(const engine::RailPair& where, bool doubtful) override {
    dialler_.take(*handshake_, where, doubtful);
    return {};
  }

 private:
  SimDialler& dialler_;
  const std::shared_ptr<Handshake> handshake_;
};

// Returns an event for the network. The event does nothing if the handshake is over by then.
std::function<void()> SimDialler::later(const std::shared_ptr<Handshake>& handshake,
                                        std::function<void(Handshake&)> act) {
  return [of = std::weak_ptr(handshake), act = std::move(act)] {
    if (const auto still = of.lock()) act(*still);
  };
}

// Forgets handshakes that are closed at both ends, and those that the dialler closed before the join arrived.
void SimDialler::forget_closed() {
  std::erase_if(under_way_, [](const auto& it) { return !it->near && (!it->far || !it->arrived); });
}

Result<std::unique_ptr<engine::Join>> SimDialler::join(const engine::JoinOrder& order, Answered answered) {
  if (!order.is_peer_probe) ++lanes_dialled_;
  auto lanes = net_.connect(*near_.host().rails[std::size_t(order.rails.local)].link,
                            *far_.host().rails[std::size_t(order.rails.remote)].link);
  const auto it = under_way_.emplace_back(std::make_shared<Handshake>(
      Handshake{order, std::move(answered), std::move(lanes.first), std::move(lanes.second)}));
  it->near->send_word(later(it, [this](Handshake& its) { arrive(its); }));
  net_.after(near_.host().clock.world(order.time),
             later(it, [this](Handshake& its) { give(its, answer(Kind::failed, "no answer")); }));
  return std::unique_ptr<engine::Join>(std::make_unique<SimJoin>(*this, it));
}

// The join arrives at the far host. A host without power does not answer.
void SimDialler::arrive(Handshake& it) {
  if (far_.host().fate == Host::Fate::lost_power) return;
  it.arrived = true;
  const auto self = *std::ranges::find(under_way_, &it, [](const auto& h) { return h.get(); });
  const engine::JoinAnswer answered = answer_of_far(it.order);
  it.far->send_word(later(self, [this, answered](Handshake& its) { give(its, answered); }));
  if (answered.kind == Kind::welcome) {
    net_.after(far_.host().clock.world(engine::UnconfirmedLanes::kTime), later(self, [this](Handshake& its) {
                 its.far.reset();
                 forget_closed();
               }));
  } else {
    it.far.reset();
  }
  if (answered.kind == Kind::duplicate && on_question) on_question({it.order.rails.remote, it.order.rails.local});
}

engine::JoinAnswer SimDialler::answer_of_far(const engine::JoinOrder& order) {
  if (!far_.host().lives()) return answer(Kind::refused_connection, "connection refused");
  if (far_.is_dead()) return answer(Kind::stranger, "this is another instance than the one expected");
  if (far_.over()) return answer(Kind::unknown_session, "no such session");
  if (far_.had_lane(order.lane)) return answer(Kind::duplicate, "that lane exists already");
  engine::JoinAnswer welcome = answer(Kind::welcome, "");
  welcome.remote_rail = order.rails.remote;
  return welcome;
}

// Gives the answer to the near host, which usually destroys the handshake.
void SimDialler::give(Handshake& it, const engine::JoinAnswer& answered) {
  if (!it.answered || near_.is_dead()) return;
  const Answered done = std::exchange(it.answered, nullptr);
  done(answered);
  if (after_answer) after_answer();
}

void SimDialler::take(Handshake& it, const engine::RailPair& where, bool doubtful) {
  const auto self = *std::ranges::find(under_way_, &it, [](const auto& h) { return h.get(); });
  it.near->send_word(later(self, [this, where](Handshake& its) { confirmed(its, where); }));
  near_.begin_lane(it.order.lane, where, std::move(it.near), doubtful);
}

// The confirm arrives at the far host, and the lane begins there, unless the far host waited too long and closed it.
// What the far host sent before the confirm might not have reached the dialler.
void SimDialler::confirmed(Handshake& it, const engine::RailPair& where) {
  std::unique_ptr<wire::SimLane> lane = std::move(it.far);
  forget_closed();
  if (lane && far_.host().lives() && !far_.had_lane(it.order.lane))
    far_.begin_lane(it.order.lane, {where.remote, where.local}, std::move(lane), false);
}

}  // namespace railweave::sim
