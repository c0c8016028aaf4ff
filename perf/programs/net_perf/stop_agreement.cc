#include "net_perf/stop_agreement.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace railweave::perf::net_perf {
namespace {

constexpr const char* kAnswer = "stopping";

}  // namespace

Status StopAgreement::begin() {
  begun_ = true;
  if (flows_.sends.empty()) return {};
  nlohmann::json last = nlohmann::json::array();
  for (auto& flow : flows_.sends) {
    flow->set_goal(flow->posted());
    last.push_back(flow->posted() + std::uint64_t(flow->inflight()));
  }
  return control_.send(last.dump());
}

Status StopAgreement::poll() {
  RW_ASSIGN_OR_RETURN(const auto message, control_.try_receive());
  if (!message) return {};
  if (*message == kAnswer) {
    answered_ = true;
    for (auto& flow : flows_.sends) flow->set_goal(flow->posted() + std::uint64_t(flow->inflight()));
    return {};
  }
  const auto last = nlohmann::json::parse(*message, nullptr, false);
  if (!last.is_array() || last.size() != flows_.receives.size()) {
    return Status(Code::remote, Scope::engine, "the other rank runs another load");
  }
  reported_ = true;
  for (std::size_t i = 0; i < last.size(); ++i) flows_.receives[i]->set_goal(last[i].get<std::uint64_t>());
  return control_.send(kAnswer);
}

}  // namespace railweave::perf::net_perf
