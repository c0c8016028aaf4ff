#include "info/process_report.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/stats/stats_json.h"
#include "info/text_table.h"

namespace railweave::info {
namespace {

std::string plural(std::uint64_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

// Returns null if lanes name a rail that was renamed since, or a wire without a rail ("shm").
const RailStats* rail_called(const EngineStats& stats, const std::string& name) {
  const auto rail = std::ranges::find(stats.rails, name, &RailStats::name);
  return rail == stats.rails.end() ? nullptr : &*rail;
}

std::string addresses_text(const RailStats& rail) {
  return rail.addresses.empty() ? "-" : fmt::format("{}", fmt::join(rail.addresses, " "));
}

std::string rails_text(const EngineStats& stats) {
  TextTable table(
      {"RAIL", "LINK", ">LANES", ">SENT", ">RECEIVED", ">IN FLIGHT", ">RETRANSMITS", ">DAMAGED", "ADDRESSES"});
  for (const auto& [name, rail] : totals_by_rail(stats)) {
    const RailStats* own = rail_called(stats, name);
    table.add({name,
               !own           ? "-"
               : own->link_up ? "up"
                              : "down",
               std::to_string(rail.lanes), size_text(double(rail.bytes_sent)), size_text(double(rail.bytes_received)),
               size_text(double(rail.outstanding_bytes)), std::to_string(rail.retransmits),
               std::to_string(rail.damaged_frames), own ? addresses_text(*own) : "-"});
  }
  return table.text();
}

std::string window_text(std::uint64_t bytes) { return bytes > 0 ? size_text(double(bytes)) : "any"; }

std::string lanes_text(const SessionStats& session) {
  TextTable table({"RAIL", "WIRE", "LOCAL", "REMOTE", ">SENT", ">RECEIVED", ">IN FLIGHT", ">RETRANSMITS", ">RATE",
                   ">MIN RTT", ">MAY SEND", ">WAITED", ">LETS COME", ">SENDERS"});
  for (const LaneStats& lane : session.lanes) {
    table.add({lane.closed ? lane.rail + " (lost)" : lane.rail, lane.wire, lane.local_address, lane.remote_address,
               size_text(double(lane.bytes_sent)), size_text(double(lane.bytes_received)),
               size_text(double(lane.outstanding_bytes)), std::to_string(lane.retransmits),
               lane.rate.bytes_per_s > 0 ? speed_text(lane.rate.megabits()) : "-",
               lane.min_rtt.count() > 0 ? time_text(double(lane.min_rtt.count())) : "-",
               window_text(lane.send_window_bytes),
               lane.without_credit.count() > 0 ? time_text(double(lane.without_credit.count())) : "-",
               window_text(lane.recv_window_bytes), std::to_string(lane.rail_senders)});
  }
  return table.text();
}

std::string session_heading(const SessionStats& session) {
  const std::uint64_t pending = session.sends_pending + session.recvs_pending;
  std::string text =
      fmt::format("Session with {}: {}, {}; ", printable(session.peer), plural(session.send_streams, "send stream"),
                  plural(session.recv_streams, "receive stream"));
  if (pending == 0) return text + "no request pending\n";
  text +=
      fmt::format("{} and {} pending", plural(session.sends_pending, "send"), plural(session.recvs_pending, "receive"));
  const double age_ns = double(session.oldest_request_age.count());
  return text + (age_ns > 0 ? fmt::format(", the oldest for {}\n", time_text(age_ns)) : "\n");
}

}  // namespace

std::map<std::string, RailTotals> totals_by_rail(const EngineStats& stats) {
  std::map<std::string, RailTotals> rails;
  for (const RailStats& rail : stats.rails) rails[rail.name];
  for (const SessionStats& session : stats.sessions) {
    for (const LaneStats& lane : session.lanes) {
      RailTotals& rail = rails[lane.rail];
      rail.lanes += lane.closed ? 0 : 1;
      rail.bytes_sent += lane.bytes_sent;
      rail.bytes_received += lane.bytes_received;
      rail.outstanding_bytes += lane.outstanding_bytes;
      rail.retransmits += lane.retransmits;
      rail.damaged_frames += lane.damaged_frames;
    }
  }
  return rails;
}

std::string process_text(const RunningEngine& engine, const EngineStats& stats) {
  std::string text = fmt::format("Process {} ({}), instance {}, {}\n", engine.pid, printable(engine.command),
                                 printable(stats.instance), plural(stats.sessions.size(), "session"));
  if (stats.sessions.empty() && stats.rails.empty()) return text;
  text += rails_text(stats);
  for (const SessionStats& session : stats.sessions) text += "\n" + session_heading(session) + lanes_text(session);
  return text;
}

nlohmann::ordered_json process_json(const RunningEngine& engine, const EngineStats& stats) {
  nlohmann::ordered_json all = {{"pid", engine.pid}, {"command", engine.command}};
  all.update(nlohmann::ordered_json::parse(engine::to_json(stats)));
  all["oldest_request_age_ns"] = oldest_request_age(stats).count();
  return all;
}

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

Nanos oldest_request_age(const EngineStats& stats) {
  Nanos oldest{0};
  for (const SessionStats& session : stats.sessions) oldest = std::max(oldest, session.oldest_request_age);
  return oldest;
}

}  // namespace railweave::info
