// A net plugin, loaded and initialised as NCCL does it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "any_net/library.h"
#include "net_perf/options.h"
#include "railweave/status.h"

namespace railweave::perf::net_perf {

using any_net::Net;
using any_net::Properties;

// Returns OK for success, else a status that names the call and NCCL's word for the code.
Status status_of_call(nccl::abi::ReturnCode code, const std::string& call);

// Calls init once and finalize once. Not movable: contexts and tables stay where they are. Threads: one.
class Plugin {
 public:
  static Result<std::unique_ptr<Plugin>> load(const Options& options);
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  Net& net() { return *net_; }
  void* context() const { return context_; }
  int device() const { return device_; }
  bool is_railweave() const;
  nlohmann::json to_json() const;

 private:
  Plugin() = default;
  Status open(const Options& options);
  Status init(const Options& options);

  std::string path_;
  std::optional<any_net::Library> library_;
  std::unique_ptr<Net> net_;
  void* context_ = nullptr;
  bool initialised_ = false;
  int device_ = 0;
  Properties properties_;
};

}  // namespace railweave::perf::net_perf
