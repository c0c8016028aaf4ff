#include "collective/launch.h"

#include <fmt/core.h>

#include "base/error.h"
#include "collective/forked.h"
#include "collective/mpi_world.h"
#include "collective/open_row.h"
#include "common/load_options.h"

namespace railweave::perf::collective {
namespace {

constexpr int kPortMost = 65535, kPortsAbove = 2;

int report(const Status& status) {
  say_error(status.message());
  return 1;
}

// Takes the place from the options, which hold torchrun's variables.
Result<Place> place_by_variables(const LaunchOptions& o) {
  if (o.rank < 0 || o.rank >= o.world_size || o.master_address.empty() || o.master_port == 0) {
    return Status(
        Code::invalid_argument, Scope::request,
        fmt::format("RANK {}, WORLD_SIZE {}, MASTER_ADDR '{}', MASTER_PORT {}: a launcher sets all of them, with "
                    "RANK below WORLD_SIZE (or take --local)",
                    o.rank, o.world_size, o.master_address, o.master_port));
  }
  if (o.agent_store && o.master_port > kPortMost - kPortsAbove) {
    return Status(Code::invalid_argument, Scope::request,
                  fmt::format("MASTER_PORT: found {}, expected at most {}: the launcher keeps that one "
                              "(TORCHELASTIC_USE_AGENT_STORE), and ranks meet {} higher",
                              o.master_port, kPortMost - kPortsAbove, kPortsAbove));
  }
  Place place{o.rank, o.world_size, o.local_rank, false, {}};
  place.location.address = o.master_address;
  // Skips the next port. torchrun --standalone takes its own by bind(0), which prefers odd ports; connect() prefers
  // even ones. A connection that has just ended would block its port for a minute.
  place.location.port = std::uint16_t(o.master_port + (o.agent_store ? kPortsAbove : 0));
  return place;
}

int run_by_mpi(const LaunchOptions& options, const std::function<int(const Place&)>& body) {
  auto world = MpiWorld::open();
  if (!world.ok()) return report(world.status());
  Place place{world->rank, world->size, world->rank_on_host, false, {}};
  place.location.patience = nanos(options.patience_s);
  if (const Status status = world->meet(place.location); !status.ok()) return report(status);
  const int exit_status = body(place);
  if (exit_status == 0) world->close();  // after a failure other ranks may never come; mpirun ends them
  return exit_status;
}

}  // namespace

Result<std::shared_ptr<collectives::Store>> Place::open_store(int rank) const {
  if (location.served && rank == 0) return location.served;
  auto opened = location.folder.empty()
                    ? collectives::tcp_store(location.address, location.port, rank == 0, location.patience)
                    : collectives::file_store(location.folder);
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<collectives::Store>(std::move(*opened));
}

int processes_here(const LaunchOptions& options) {
  if (options.local > 0) return options.local;
  return options.world_size == 0 && options.rank < 0 && !MpiWorld::launched() ? 1 : 0;
}

int run_launched(const LaunchOptions& options, const std::function<int(const Place&)>& body) {
  if (const int processes = processes_here(options); processes > 0) {
    const auto run = [&](int process, const std::string& folder) {
      Place place{process, processes, process, true, {}};
      place.location.folder = folder;
      place.location.patience = nanos(options.patience_s);
      return body(place);
    };
    return run_forked(processes, run);
  }
  if (MpiWorld::launched()) return run_by_mpi(options, body);
  auto place = place_by_variables(options);
  if (!place.ok()) return report(place.status());
  place->location.patience = nanos(options.patience_s);
  return body(*place);
}

}  // namespace railweave::perf::collective
