#include <nlohmann/json.hpp>

#include "engine/stats/stats_json.h"

namespace railweave::engine {
namespace {

using Json = nlohmann::ordered_json;

Json lane_json(const LaneStats& lane) {
  return {{"rail", lane.rail},
          {"local_address", lane.local_address},
          {"remote_address", lane.remote_address},
          {"bytes_sent", lane.bytes_sent},
          {"bytes_received", lane.bytes_received},
          {"frames_sent", lane.frames_sent},
          {"frames_received", lane.frames_received},
          {"write_calls", lane.write_calls},
          {"read_calls", lane.read_calls},
          {"outstanding_bytes", lane.outstanding_bytes},
          {"retransmits", lane.retransmits},
          {"rate_bytes_per_s", lane.rate.bytes_per_s},
          {"min_rtt_ns", lane.min_rtt.count()}};
}

Json session_json(const SessionStats& session) {
  Json lanes = Json::array();
  for (const LaneStats& lane : session.lanes) lanes.push_back(lane_json(lane));
  return {{"peer", session.peer},
          {"lanes", std::move(lanes)},
          {"send_streams", session.send_streams},
          {"recv_streams", session.recv_streams},
          {"sends_pending", session.sends_pending},
          {"recvs_pending", session.recvs_pending},
          {"oldest_request_age_ns", session.oldest_request_age.count()}};
}

}  // namespace

std::string to_json(const EngineStats& stats) {
  Json sessions = Json::array();
  for (const SessionStats& session : stats.sessions) sessions.push_back(session_json(session));
  const Json all = {{"instance", stats.instance}, {"sessions", std::move(sessions)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace railweave::engine
