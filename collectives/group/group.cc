#include "collectives/group/group.h"
#include "collectives/config/config_section.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>

#include "base/error.h"
#include "collectives/exec/costs.h"
#include "collectives/group/engine_group.h"
#include "collectives/rendezvous/host_proof.h"
#include "collectives/scheduler/window.h"
#include "collectives/shared_memory/sharing.h"
#include "railweave/config.h"

namespace railweave::collectives {

namespace {

struct Met {
  std::vector<Handle> handles;  // by rank
  std::vector<int> host_of;     // see Problem::host_of
};

constexpr std::string_view kKeeps = " keeps the store";

// Exchanges every rank's listener and, for each rank, the lowest rank of its host.
Result<Met> meet(Rendezvous& place, int rank, const Handle& own) {
  RW_TRY(place.arrive());
  RW_ASSIGN_OR_RETURN(const HostProof proof, HostProof::offer());
  RW_ASSIGN_OR_RETURN(const std::vector<std::string> published,
                      place.publish_and_collect(
                          "rank", std::string(reinterpret_cast<const char*>(own.data()), own.size()) + proof.name()));
  Met all;
  int lowest = rank;
  for (int r = 0; r < int(published.size()); ++r) {
    const std::string& theirs = published[std::size_t(r)];
    if (theirs.size() < kHandleBytes)
      return Status(Code::remote, Scope::engine,
                    fmt::format("rank {} published {} bytes, expected at least {}", r, theirs.size(), kHandleBytes));
    std::memcpy(all.handles.emplace_back().data(), theirs.data(), kHandleBytes);
    if (r < lowest && HostProof::open(theirs.substr(kHandleBytes))) lowest = r;
  }
  RW_ASSIGN_OR_RETURN(
      const std::vector<std::string> lowest_announced,
      place.publish_and_collect("host", fmt::format("{}{}", lowest, place.keeps_store() ? kKeeps : "")));
  std::vector<int> lowest_of;
  for (const std::string& text : lowest_announced) {
    const int r = int(lowest_of.size());
    if (text.ends_with(kKeeps)) place.store_kept_by(r);
    int& first = lowest_of.emplace_back(-1);
    std::from_chars(text.data(), text.data() + text.size(), first);
    if (first < 0 || first > r)
      return Status(Code::remote, Scope::engine,
                    fmt::format("rank {} published '{}', expected the lowest rank of its host (0 to {})", r, text, r));
  }
  all.host_of = number_hosts(lowest_of);
  return all;
}

// Creates the group. After an error the caller must notify the other ranks first, and then end `listener` and `group`.
Status come_together(std::shared_ptr<Engine> engine, Rendezvous& place, const Group::Options& options,
                     std::unique_ptr<Listener>& listener, std::shared_ptr<EngineGroup>& group) {
  RW_ASSIGN_OR_RETURN(std::shared_ptr<Runner> runner, Runner::shared());
  Handle own;
  RW_ASSIGN_OR_RETURN(listener, engine->listen(0, own));
  RW_ASSIGN_OR_RETURN(Met all, meet(place, options.rank, own));
  RW_TRY(place.begin());
  // Rank 0's environment and measurements decide for all.
  register_config();
  RW_ASSIGN_OR_RETURN(const Config config, Config::from_environment());
  const auto& own_choice = config.of<CollectivesConfig>();
  RW_TRY(check_algorithm_choice(own_choice.algorithms));
  RW_TRY(parse_policy(own_choice.schedule).status());
  RW_ASSIGN_OR_RETURN(const std::string named, place.agree("algorithms", own_choice.algorithms));
  RW_ASSIGN_OR_RETURN(const std::string schedule, place.agree("schedule", own_choice.schedule));
  RW_ASSIGN_OR_RETURN(const Policy policy, parse_policy(schedule));
  // Where the scheduler has a window, large operations go by the scheduler, and not over the shm exchange in pieces.
  const ShmPermit permit{.shares_memory = engine->shares_memory(), .in_pieces = policy.window == Window()};
  // Ranks that share memory use no rails, so there is nothing to learn. Rank 0's engine decides for all ranks.
  const bool shares = engine->shares_memory() && std::ranges::all_of(all.host_of, [](int host) { return host == 0; });
  RW_ASSIGN_OR_RETURN(const std::string learns, place.agree("learns", shares ? "no" : "yes"));
  RW_TRY(place.given_up());  // the listener of a rank that gave up may be gone
  group =
      std::make_shared<EngineGroup>(std::move(runner), engine, place, options, all.host_of, policy, learns == "yes");
  group->join(
      std::make_unique<PeerStreams>(std::move(engine), options.rank, std::move(all.handles), std::move(listener)),
      Planner(Costs{}, named));
  // Finds a rank that cannot be reached now, and not in the first operation.
  if (const Status met = group->barrier({})->wait(options.timeout); !met.ok())
    return Status(
        met.code(), met.scope(),
        fmt::format("group '{}': the ranks found but did not reach each other: {}", options.name, met.message()),
        met.system_errno());
  RW_ASSIGN_OR_RETURN(const Costs costs, agree_on_costs(*group, place, all.host_of));
  group->plan_by(Planner(costs, named));
  if (group->is_of_one_host()) {
    RW_ASSIGN_OR_RETURN(auto queue, share_shm_exchange(*group, place, permit, options.timeout, named));
    group->use_shm_exchange(std::move(queue));
  }
  RW_TRY(group->barrier({})->wait(options.timeout));  // all ranks have read the store's keys
  place.tidy_up();
  return group->barrier({})->wait(options.timeout);  // the next group of this name finds no keys of this one
}

}  // namespace

Result<std::shared_ptr<Group>> Group::create(std::shared_ptr<Engine> engine, std::shared_ptr<Store> store,
                                             const Options& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    return Status(Code::invalid_argument, Scope::engine,
                  fmt::format("group '{}': rank {} and size {}, expected a rank from 0 to size - 1", options.name,
                              options.rank, options.size));
  Rendezvous place(std::move(store), options);
  std::unique_ptr<Listener> listener;
  std::shared_ptr<EngineGroup> group;
  const Status met = come_together(std::move(engine), place, options, listener, group);
  if (met.ok()) return std::shared_ptr<Group>(std::move(group));
  place.give_up(met);
  return met;
}

}  // namespace railweave::collectives
