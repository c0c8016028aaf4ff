#include "collective/mpi_world.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "collective/mpi_module.h"
#include "collective/own_engine.h"

namespace railweave::perf::collective {
namespace {

// Broadcast by rank 0.
struct Announcement {
  std::array<char, 64> address{};  // empty: rank 0 failed
  std::uint16_t port = 0;
};

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(address.family == Address::Family::v4 ? AF_INET : AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

// Returns an address of this host that other hosts can reach.
Result<std::string> own_address() {
  RW_ASSIGN_OR_RETURN(const std::shared_ptr<Engine> engine, start_engine(false));
  return text_of(engine->rails().front().addresses.front());
}

Result<std::string> module_path() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "lib" / "railweave-mpi.so").string();
}

}  // namespace

bool MpiWorld::launched() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

Result<MpiWorld> MpiWorld::open() {
  RW_ASSIGN_OR_RETURN(const std::string path, module_path());
  // RTLD_GLOBAL: Open MPI loads components that look for its symbols.
  void* const module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    const char* const why = ::dlerror();
    return Status(Code::system, Scope::engine,
                  std::string("started by mpirun, but without MPI: ") + (why != nullptr ? why : path));
  }
  const auto open_world = reinterpret_cast<decltype(&railweave_mpi_open)>(::dlsym(module, "railweave_mpi_open"));
  MpiWorld world;
  world.broadcast_ = reinterpret_cast<decltype(&railweave_mpi_broadcast)>(::dlsym(module, "railweave_mpi_broadcast"));
  world.close_ = reinterpret_cast<decltype(&railweave_mpi_close)>(::dlsym(module, "railweave_mpi_close"));
  if (open_world == nullptr || world.broadcast_ == nullptr || world.close_ == nullptr) {
    return Status(Code::system, Scope::engine, path + " is not of this build");
  }
  int size_on_host = 0;
  if (open_world(&world.rank, &world.size, &world.rank_on_host, &size_on_host) != 0) {
    return Status(Code::remote, Scope::engine, "MPI_Init failed");
  }
  world.one_host_ = size_on_host == world.size;
  return world;
}

Status MpiWorld::meet(StoreLocation& place) const {
  Announcement said;
  Status status;
  if (rank == 0) {
    Result<std::string> address = one_host_ ? Result<std::string>(std::string("127.0.0.1")) : own_address();
    if (address.ok()) {
      auto store = collectives::tcp_store(*address, 0, true, place.patience, &said.port);
      status = store.status();
      if (store.ok()) {
        place.served = std::move(*store);
        std::strncpy(said.address.data(), address->c_str(), said.address.size() - 1);
      }
    } else {
      status = address.status();
    }
  }
  broadcast_(&said, sizeof said);
  place.address = said.address.data();
  place.port = said.port;
  if (!status.ok() || !place.address.empty()) return status;
  return Status(Code::remote, Scope::engine, "rank 0 has no address for the others to come to");
}

}  // namespace railweave::perf::collective
