#include "collectives/group.h"

#include <fmt/core.h>

#include "base/error.h"
#include "collectives/costs.h"
#include "collectives/engine_group.h"
#include "railweave/config.h"

namespace railweave::collectives {

Result<std::shared_ptr<Group>> Group::create(std::shared_ptr<Engine> engine, std::shared_ptr<Store> store, const Options& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    return Status(Code::invalid_argument, Scope::engine,
                  fmt::format("group '{}': rank {} of {}", options.name, options.rank, options.size));
  RW_ASSIGN_OR_RETURN(std::shared_ptr<Runner> runner, Runner::shared());
  Handle own;
  RW_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, engine->listen(0, own));
  MeetingPlace place(store, options);
  RW_ASSIGN_OR_RETURN(std::vector<Handle> handles, place.exchange(own));
  // Rank 0's environment and measurements decide for all.
  RW_ASSIGN_OR_RETURN(const Config config, Config::from_environment());
  RW_TRY(check_algorithm_choice(config.algorithms));
  RW_ASSIGN_OR_RETURN(std::string named, place.agree("algorithms", config.algorithms));
  auto group = std::make_shared<EngineGroup>(std::move(runner), place, options);
  group->join(std::make_unique<Links>(std::move(engine), options.rank, std::move(handles), std::move(listener)), Planner(Costs{}, named));
  // When all have been here, all have read what we told; and a rank that cannot be reached shows now.
  const Status met = group->barrier({})->wait(options.timeout);
  if (!met.ok())
    return Status(met.code(), met.scope(), fmt::format("group '{}': the ranks found but did not reach each other: {}", options.name, met.message()),
                  met.system_errno());
  RW_ASSIGN_OR_RETURN(const Costs costs, agree_on_costs(*group, place));
  group->plan_by(Planner(costs, named));
  RW_TRY(group->barrier({})->wait(options.timeout));  // all have read what there was to read
  place.tidy_up();
  return std::shared_ptr<Group>(std::move(group));
}

}  // namespace railweave::collectives
