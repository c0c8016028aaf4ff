#include "top/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "info/process_report.h"
#include "info/text_table.h"

namespace railweave::top {
namespace {

using info::printable;

std::string heading(const EngineView& view) {
  std::string text = fmt::format("Process {} ({})", view.engine.pid, printable(view.engine.command));
  if (!view.no_answer.empty()) return text + ": no answer: " + printable(view.no_answer) + "\n";
  text += fmt::format(", {} session{}, {} request{} pending", view.sessions, view.sessions == 1 ? "" : "s",
                      view.pending, view.pending == 1 ? "" : "s");
  if (view.oldest_request_age.count() > 0) {
    text += fmt::format(", the oldest for {}", info::time_text(double(view.oldest_request_age.count())));
  }
  return text + "\n";
}

std::string rails_table(const EngineView& view) {
  info::TextTable table({"RAIL", ">LANES", ">SENDING", ">RECEIVING", ">IN FLIGHT", ">RETRANSMITS/S"});
  const auto speed = [&](Rate rate) { return view.since.count() > 0 ? info::speed_text(rate.megabits()) : "-"; };
  for (const RailRate& rail : view.rails) {
    const double retransmits = Rate::of(double(rail.retransmits), view.since).bytes_per_s;
    table.add({rail.rail, std::to_string(rail.lanes), speed(rail.sending), speed(rail.receiving),
               info::size_text(double(rail.outstanding_bytes)), fmt::format("{:.0f}", retransmits)});
  }
  return table.text();
}

nlohmann::ordered_json engine_json(const EngineView& view) {
  nlohmann::ordered_json engine = {{"pid", view.engine.pid}, {"command", view.engine.command}};
  if (!view.no_answer.empty()) {
    engine["error"] = view.no_answer;
    return engine;
  }
  engine["seconds"] = double(view.since.count()) / 1e9;
  engine["sessions"] = view.sessions;
  engine["pending"] = view.pending;
  engine["oldest_request_age_ns"] = view.oldest_request_age.count();
  engine["rails"] = nlohmann::ordered_json::array();
  for (const RailRate& rail : view.rails) {
    engine["rails"].push_back({{"name", rail.rail},
                               {"lanes", rail.lanes},
                               {"sending_bytes_per_s", rail.sending.bytes_per_s},
                               {"receiving_bytes_per_s", rail.receiving.bytes_per_s},
                               {"outstanding_bytes", rail.outstanding_bytes},
                               {"retransmits", rail.retransmits}});
  }
  return engine;
}

}  // namespace

std::string frame_text(const std::vector<EngineView>& views) {
  if (views.empty()) return "No process with an engine, or none that this user may ask.\n";
  std::string text;
  for (const EngineView& view : views) text += (text.empty() ? "" : "\n") + heading(view) + rails_table(view);
  return text;
}

std::string frame_json(const std::vector<EngineView>& views) {
  nlohmann::ordered_json engines = nlohmann::ordered_json::array();
  for (const EngineView& view : views) engines.push_back(engine_json(view));
  return info::json_text({{"engines", engines}});
}

std::string fit_screen(const std::string& text, std::size_t rows, std::size_t columns) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line.substr(0, columns));
  const std::size_t shown = lines.size() <= rows ? lines.size() : std::max<std::size_t>(rows, 1) - 1;
  std::string screen;
  for (std::size_t i = 0; i < shown; ++i) screen += lines[i] + "\n";
  return shown == lines.size() ? screen : screen + fmt::format("... {} more lines\n", lines.size() - shown);
}

}  // namespace railweave::top
