// Reads what stats_to_json.cc writes, for railweave info.
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "engine/stats/stats_json.h"

namespace railweave::engine {
namespace {

using Json = nlohmann::json;

Status wrong(const char* field, const char* expected) {
  return Status(Code::invalid_argument, Scope::request, fmt::format("statistics: \"{}\" is not {}", field, expected));
}

// Reads the fields of one object. After the first wrong field the rest are not read.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {
    if (!object.is_object()) status_ = Status(Code::invalid_argument, Scope::request, "statistics: not a JSON object");
  }

  Fields& operator()(const char* name, std::string& to) {
    if (const Json* field = find(name); field && !field->is_string()) {
      status_ = wrong(name, "a string");
    } else if (field) {
      to = field->get_ref<const std::string&>();
    }
    return *this;
  }

  Fields& operator()(const char* name, bool& to) {
    if (const Json* field = find(name); field && !field->is_boolean()) {
      status_ = wrong(name, "true or false");
    } else if (field) {
      to = field->get<bool>();
    }
    return *this;
  }

  template <class Integer>
  requires std::is_unsigned_v<Integer> Fields& operator()(const char* name, Integer& to) {
    const Json* field = find(name);
    if (!field) return *this;
    const bool fits = field->is_number_unsigned() && field->get<std::uint64_t>() <= std::numeric_limits<Integer>::max();
    if (fits)
      to = static_cast<Integer>(field->get<std::uint64_t>());
    else
      status_ = wrong(name, "a count");
    return *this;
  }

  Fields& operator()(const char* name, Nanos& to) {
    const Json* field = find(name);
    if (!field) return *this;
    const bool fits =
        field->is_number_integer() &&
        (!field->is_number_unsigned() || field->get<std::uint64_t>() <= std::uint64_t(Nanos::max().count()));
    if (fits)
      to = Nanos(field->get<std::int64_t>());
    else
      status_ = wrong(name, "a number of nanoseconds");
    return *this;
  }

  Fields& operator()(const char* name, Rate& to) {
    if (const Json* field = find(name); field && !field->is_number()) {
      status_ = wrong(name, "a number");
    } else if (field) {
      to.bytes_per_s = field->get<double>();
    }
    return *this;
  }

  // Reads an array; `read(element) -> Result<T>` reads one element.
  template <class T, class Read>
  Fields& each(const char* name, std::vector<T>& to, Read read) {
    const Json* field = find(name);
    if (!field) return *this;
    if (!field->is_array()) status_ = wrong(name, "an array");
    for (auto element = field->begin(); status_.ok() && element != field->end(); ++element) {
      Result<T> one = read(*element);
      if (one.ok())
        to.push_back(std::move(one.value()));
      else
        status_ = one.status();
    }
    return *this;
  }

  Status status() const { return status_; }

 private:
  const Json* find(const char* name) const {
    if (!status_.ok()) return nullptr;
    const auto field = object_.find(name);
    return field == object_.end() ? nullptr : &*field;
  }

  const Json& object_;
  Status status_;
};

Result<std::string> read_address(const Json& json) {
  if (!json.is_string()) return wrong("addresses", "an array of strings");
  return json.get<std::string>();
}

Result<RailStats> read_rail(const Json& json) {
  RailStats rail;
  Fields fields(json);
  fields("name", rail.name).each("addresses", rail.addresses, read_address);
  fields("link_up", rail.link_up);
  RW_TRY(fields.status());
  return rail;
}

Result<LaneStats> read_lane(const Json& json) {
  LaneStats lane;
  Fields fields(json);
  fields("wire", lane.wire)("rail", lane.rail)("local_address", lane.local_address)("remote_address",
                                                                                    lane.remote_address);
  fields("bytes_sent", lane.bytes_sent)("bytes_received", lane.bytes_received);
  fields("frames_sent", lane.frames_sent)("frames_received", lane.frames_received);
  fields("write_calls", lane.write_calls)("read_calls", lane.read_calls);
  fields("outstanding_bytes", lane.outstanding_bytes)("retransmits", lane.retransmits);
  fields("damaged_frames", lane.damaged_frames);
  fields("rate_bytes_per_s", lane.rate)("min_rtt_ns", lane.min_rtt)("closed", lane.closed);
  fields("send_window_bytes", lane.send_window_bytes)("recv_window_bytes", lane.recv_window_bytes);
  fields("rail_senders", lane.rail_senders)("without_credit_ns", lane.without_credit);
  RW_TRY(fields.status());
  return lane;
}

Result<SessionStats> read_session(const Json& json) {
  SessionStats session;
  Fields fields(json);
  fields("peer", session.peer).each("lanes", session.lanes, read_lane);
  fields("send_streams", session.send_streams)("recv_streams", session.recv_streams);
  fields("sends_pending", session.sends_pending)("recvs_pending", session.recvs_pending);
  fields("control_frames", session.control_frames)("control_frames_said_again", session.control_frames_retransmitted);
  fields("oldest_request_age_ns", session.oldest_request_age);
  RW_TRY(fields.status());
  return session;
}

}  // namespace

Result<EngineStats> stats_from_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Status(Code::invalid_argument, Scope::request, "statistics: not JSON");
  EngineStats stats;
  Fields fields(json);
  fields("instance", stats.instance)
      .each("rails", stats.rails, read_rail)
      .each("sessions", stats.sessions, read_session);
  RW_TRY(fields.status());
  return stats;
}

}  // namespace railweave::engine
