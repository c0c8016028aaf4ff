// Short calls for tests of discovery: the rails of a host, and why an interface is or is not a rail.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "discovery/rails.h"
#include "fake_host.h"

namespace railweave::discovery {

// Returns "eth0 eth1", or "error: ...".
inline std::string rails_of(const HostView& host, const Config& config = {}) {
  const Result<Discovered> found = discover_rails(config, host);
  if (!found.ok()) {
    EXPECT_EQ(Code::invalid_config, found.status().code());
    EXPECT_EQ(Scope::engine, found.status().scope());
    EXPECT_LT(found.status().message().size(), 1000u);
    return "error: " + found.status().message();
  }
  std::string names;
  for (const Rail& rail : found.value().taken) names += (names.empty() ? "" : " ") + rail.name;
  return names;
}

inline std::string rails_listed(const HostView& host, const std::string& ifname) {
  Config config;
  config.interfaces = ifname;
  return rails_of(host, config);
}

inline std::string rails_named(const HostView& host, std::vector<std::string> names) {
  Config config;
  config.rails = std::move(names);
  return rails_of(host, config);
}

inline std::string reason(const HostView& host, const std::string& name, const Config& config = {}) {
  for (const Considered& one : survey_rails(config, host).found.considered) {
    if (one.name == name) return one.reason;
  }
  return "not considered";
}

inline Rail rail(const HostView& host, const std::string& name, const Config& config = {}) {
  const Survey survey = survey_rails(config, host);
  for (const Rail& one : survey.found.taken) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << name << " is no rail: " << survey.status.message();
  return {};
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.npos, text.find(part)) << "\"" << text << "\" lacks \"" << part << "\"";
}

}  // namespace railweave::discovery
