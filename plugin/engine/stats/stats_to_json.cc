// Writes JSON without a library: the reactor runs this code while lanes wait, and a JSON library took twenty times as
// long.
#include <fmt/format.h>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "engine/stats/stats_json.h"

namespace railweave::engine {
namespace {

using Buffer = fmt::memory_buffer;

void add(Buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

void add_quoted(Buffer& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", octet);
    } else {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(octet < 0x7f ? c : '?');
    }
  }
  out.push_back('"');
}

void add_value(Buffer& out, const std::string& text) { add_quoted(out, text); }
void add_value(Buffer& out, Nanos time) { fmt::format_to(std::back_inserter(out), "{}", time.count()); }
void add_value(Buffer& out, Rate rate) {
  fmt::format_to(std::back_inserter(out), "{}", std::isfinite(rate.bytes_per_s) ? rate.bytes_per_s : 0.0);
}
template <class Integer>
requires std::is_unsigned_v<Integer>  // bool included: true, false
void add_value(Buffer& out, Integer count) { fmt::format_to(std::back_inserter(out), "{}", count); }

// Writes one JSON object; the destructor writes the closing brace.
class Object {
 public:
  explicit Object(Buffer& out) : out_(out) {}
  ~Object() { add(out_, empty_ ? "{}" : "}"); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <class Value>
  Object& operator()(std::string_view name, const Value& value) {
    start(name);
    add_value(out_, value);
    return *this;
  }

  template <class T, class Write>
  Object& each(std::string_view name, const std::vector<T>& elements, Write write) {
    start(name);
    out_.push_back('[');
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) out_.push_back(',');
      write(out_, elements[i]);
    }
    out_.push_back(']');
    return *this;
  }

 private:
  void start(std::string_view name) {
    out_.push_back(empty_ ? '{' : ',');
    empty_ = false;
    add_quoted(out_, name);
    out_.push_back(':');
  }

  Buffer& out_;
  bool empty_ = true;
};

void write_lane(Buffer& out, const LaneStats& lane) {
  Object object(out);
  object("wire", lane.wire)("rail", lane.rail)("local_address", lane.local_address)("remote_address",
                                                                                    lane.remote_address);
  object("bytes_sent", lane.bytes_sent)("bytes_received", lane.bytes_received);
  object("frames_sent", lane.frames_sent)("frames_received", lane.frames_received);
  object("write_calls", lane.write_calls)("read_calls", lane.read_calls);
  object("outstanding_bytes", lane.outstanding_bytes)("retransmits", lane.retransmits);
  object("damaged_frames", lane.damaged_frames);
  object("rate_bytes_per_s", lane.rate)("min_rtt_ns", lane.min_rtt)("closed", lane.closed);
  object("send_window_bytes", lane.send_window_bytes)("recv_window_bytes", lane.recv_window_bytes);
  object("rail_senders", lane.rail_senders)("without_credit_ns", lane.without_credit);
}

void write_rail(Buffer& out, const RailStats& rail) {
  Object object(out);
  object("name", rail.name).each("addresses", rail.addresses, add_quoted);
  object("link_up", rail.link_up);
}

void write_session(Buffer& out, const SessionStats& session) {
  Object object(out);
  object("peer", session.peer).each("lanes", session.lanes, write_lane);
  object("send_streams", session.send_streams)("recv_streams", session.recv_streams);
  object("sends_pending", session.sends_pending)("recvs_pending", session.recvs_pending);
  object("control_frames", session.control_frames)("control_frames_said_again", session.control_frames_retransmitted);
  object("oldest_request_age_ns", session.oldest_request_age);
}

}  // namespace

std::string to_json(const EngineStats& stats) {
  Buffer out;
  {
    Object object(out);
    object("instance", stats.instance)
        .each("rails", stats.rails, write_rail)
        .each("sessions", stats.sessions, write_session);
  }
  return fmt::to_string(out);
}

}  // namespace railweave::engine
