#include "common/timed_block.h"

#include <nlohmann/json.hpp>

#include <cassert>

namespace railweave::perf {
namespace {

double seconds(Nanos t) { return double(t.count()) / 1e9; }

// Interfaces that carried any bytes in the block.
std::vector<std::string> busy_names(const CountersByName& difference) {
  std::vector<std::string> names;
  for (const auto& [name, counters] : difference) {
    if (counters.rx_bytes + counters.tx_bytes > 0) names.push_back(name);
  }
  return names;
}

}  // namespace

Totals operator-(const Totals& b, const Totals& a) {
  return Totals{b.sent_bytes - a.sent_bytes,
                b.received_bytes - a.received_bytes,
                b.sent_messages - a.sent_messages,
                b.received_messages - a.received_messages,
                b.passes - a.passes,
                b.idle_passes - a.idle_passes,
                b.sleeps - a.sleeps};
}

TimedBlock::TimedBlock(const BlockPlan& plan, InterfaceSampler interfaces)
    : plan_(plan), interfaces_(std::move(interfaces)) {
  const Nanos expected = plan.duration.count() > 0 ? plan.duration : Nanos(std::chrono::seconds(60));
  samples_.reserve(std::size_t(expected / plan.interval) + 8);
}

TimedBlock::Edge TimedBlock::on_due(TimePoint now, const Totals& totals) {
  if (state_ == State::warming) {
    begin(now, totals);
    return Edge::begins;
  }
  if (plan_.duration.count() > 0 && now >= begun_ + plan_.duration) {
    end(now, totals);
    return Edge::ends;
  }
  sample(now, totals);
  return Edge::none;
}

void TimedBlock::begin(TimePoint now, const Totals& totals) {
  state_ = State::timing;
  begun_ = now;
  totals_before_ = totals;
  interfaces_before_ = interfaces_.sample();
  memory_before_mib_ = memory_high_water_mib();
  cpu_before_ = cpu_use();
  due_at_ = now + plan_.interval;
}

void TimedBlock::sample(TimePoint now, const Totals& totals) {
  samples_.push_back(Sample{seconds(now - begun_), totals.sent_bytes, totals.received_bytes, interfaces_.sample()});
  due_at_ = begun_ + (1 + (now - begun_) / plan_.interval) * plan_.interval;
  if (plan_.duration.count() > 0) due_at_ = std::min(due_at_, begun_ + plan_.duration);
}

void TimedBlock::end(TimePoint now, const Totals& totals) {
  assert(state_ == State::timing);
  cpu_after_ = cpu_use();
  ended_ = now;
  totals_after_ = totals;
  memory_after_mib_ = memory_high_water_mib();
  sample(now, totals);
  state_ = State::over;
  due_at_ = TimePoint::max();
}

nlohmann::json TimedBlock::series() const {
  nlohmann::json result = {{"interval_ms", seconds(plan_.interval) * 1e3}};
  nlohmann::json t_s = nlohmann::json::array(), sent = t_s, received = t_s, rails = nlohmann::json::object();
  for (const auto& name : busy_names(difference(samples_.back().interfaces, interfaces_before_))) {
    rails[name] = {{"tx_bytes", nlohmann::json::array()}, {"rx_bytes", nlohmann::json::array()}};
  }
  Sample before{0, totals_before_.sent_bytes, totals_before_.received_bytes, interfaces_before_};
  for (const Sample& at : samples_) {
    t_s.push_back(at.t_s);
    sent.push_back(at.sent_bytes - before.sent_bytes);
    received.push_back(at.received_bytes - before.received_bytes);
    const CountersByName moved = difference(at.interfaces, before.interfaces);
    for (auto& [name, columns] : rails.items()) {
      const auto found = moved.find(name);
      columns["tx_bytes"].push_back(found == moved.end() ? 0 : found->second.tx_bytes);
      columns["rx_bytes"].push_back(found == moved.end() ? 0 : found->second.rx_bytes);
    }
    before = at;
  }
  result["t_s"] = std::move(t_s);
  result["sent_bytes"] = std::move(sent);
  result["received_bytes"] = std::move(received);
  result["rails"] = std::move(rails);
  return result;
}

nlohmann::json TimedBlock::to_json(int rank) const {
  assert(ended());
  const CpuUse cpu = cpu_after_ - cpu_before_;
  const Totals totals = moved();
  const CountersByName over_block = difference(samples_.back().interfaces, interfaces_before_);
  nlohmann::json rails = nlohmann::json::object();
  for (const auto& name : busy_names(over_block)) {
    const InterfaceCounters& n = over_block.at(name);
    rails[name] = {{"tx_bytes", n.tx_bytes},
                   {"rx_bytes", n.rx_bytes},
                   {"tx_packets", n.tx_packets},
                   {"rx_packets", n.rx_packets},
                   {"drops", n.drops}};
  }
  return {{"rank", rank},
          {"t0_monotonic_ns", begun_.time_since_epoch().count()},
          {"seconds", seconds(length())},
          {"sent_bytes", totals.sent_bytes},
          {"received_bytes", totals.received_bytes},
          {"sent_messages", totals.sent_messages},
          {"received_messages", totals.received_messages},
          {"passes", totals.passes},
          {"idle_passes", totals.idle_passes},
          {"sleeps", totals.sleeps},
          {"cpu_user_s", cpu.user_s},
          {"cpu_sys_s", cpu.system_s},
          {"machine_busy_s", cpu.machine_busy_s},
          {"memory_high_water_mb_start", memory_before_mib_},
          {"memory_high_water_mb_end", memory_after_mib_},
          {"rails", std::move(rails)},
          {"series", series()}};
}

}  // namespace railweave::perf
