#include "engine/api/peer_sessions.h"

#include <cassert>
#include <span>
#include <string>
#include <utility>

#include "base/log.h"

namespace railweave::engine {

void PeerSession::on_lane_wanted() {
  session->note_lost_pairs();
  if (absent_rails) absent_rails->poll_later();
  if (rail_log) rail_log->poll();
  if (reconciler) reconciler->poll();
  if (probe) probe->poll();
}

void PeerSession::on_lane() {
  if (rail_log) rail_log->poll();
  if (probe) probe->on_lane();
}

void PeerSession::apply_rails() {
  std::vector<LaneReconciler::PeerRailUpdate> heard;
  for (const protocol::RailUpdates::Statement& news : session->drain_rail_updates()) {
    Result<PeerRail> rail = decode_rail(std::as_bytes(std::span(news.bytes)));
    if (!rail.ok())
      return session->lose("malformed announcement of the peer's rail " + std::to_string(news.rail) + ": " +
                           std::string(rail.status().message()));
    RW_INFO(net, "{} reports its rail {}: {}", session->peer(), rail->name, state_of(*rail));
    if (probe) probe->on_peer_rail(news.rail, *rail);
    heard.push_back({news.rail, std::move(*rail)});
  }
  if (reconciler) reconciler->on_peer_rails(heard);
}

PeerSession& PeerSessions::add(std::shared_ptr<Session> session, bool by_rails) {
  assert(session && !find(*session));
  PeerSession record;
  record.session = session;
  record.watch = std::make_unique<SessionWatch>(reactor_, session);
  if (by_rails) record.rail_log = std::make_unique<RailLog>(reactor_, rails_.now(), session, warn_budget_);
  if (by_rails) record.absent_rails = std::make_unique<AbsentRails>(reactor_, rails_.now(), session, logged_absences_);
  return records_.emplace(session.get(), std::move(record)).first->second;
}

PeerSession* PeerSessions::find(const Session& session) {
  const auto it = records_.find(&session);
  return it == records_.end() ? nullptr : &it->second;
}

void PeerSessions::remove(const Session& session) {
  const auto it = records_.find(&session);
  if (it == records_.end()) return;
  const std::shared_ptr<Session> held = it->second.session;  // outlives the record, which refers to the session
  records_.erase(it);
}

void PeerSessions::stop_reconciling() {
  for (auto& [session, record] : records_) {
    record.rail_log.reset();
    record.absent_rails.reset();
    record.reconciler.reset();
    record.probe.reset();
  }
}

template <class Act>
void PeerSessions::each(const Act& act) {
  for (auto& of_session : records_) {
    PeerSession& record = of_session.second;
    (void)record.session->guarded([&] { act(record); });
  }
}

void PeerSessions::on_link(int rail, bool up) {
  each([&](PeerSession& record) { record.session->set_link(rail, up); });
  announce_rail(rail);
  if (!up) return;
  poll_absent_rails_later();
  each([&](PeerSession& record) {
    if (record.reconciler) record.reconciler->on_link_up(rail);
  });
}

void PeerSessions::poll_absent_rails_later() {
  each([](PeerSession& record) {
    if (record.absent_rails) record.absent_rails->poll_later();
  });
}

void PeerSessions::on_own_rail(int rail) {
  poll_absent_rails_later();
  each([&](PeerSession& record) {
    if (record.reconciler) record.reconciler->on_own_rail(rail);
  });
}

void PeerSessions::announce_rail(int rail) {
  each([&](PeerSession& record) {
    if (record.by_rails()) record.session->announce_rail(rails_.news_of(rail));
  });
}

}  // namespace railweave::engine
