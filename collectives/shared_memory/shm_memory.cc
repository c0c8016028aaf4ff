#include "collectives/shared_memory/shm_memory.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/abstract_socket.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/local_socket.h"
#include "base/random.h"
#include "base/sealed_memory.h"

namespace railweave::collectives {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetry = 2ms;          // pause while the offer's backlog is full
constexpr std::byte kGreeting{0x42};  // sent with the descriptor

// Waits until `fd` can be read. Errors: timed_out, system.
Status await(int fd, TimePoint give_up, const std::string& what) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - now()).count();
    pollfd wanted{fd, POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&wanted, 1, int(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error(Scope::engine, "poll for " + what);
    if (now() >= give_up) return Status(Code::timed_out, Scope::engine, "timed out waiting for " + what);
  }
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------ mapping

Result<ShmMemory> ShmMemory::map(int fd, std::size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) return memory_error("mmap");
  return ShmMemory(static_cast<std::byte*>(data), bytes);
}

ShmMemory::ShmMemory(ShmMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ShmMemory& ShmMemory::operator=(ShmMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ShmMemory::~ShmMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

// ---------------------------------------------------------------------------------------------------- handing it out

Result<ShmOffer> ShmOffer::make(std::size_t bytes) {
  ShmOffer offer;
  RW_ASSIGN_OR_RETURN(offer.memory_, make_sealed_memory(bytes));
  offer.name_ = "railweave-exchange-" + hex(random_id());
  RW_ASSIGN_OR_RETURN(offer.listener_, listen_abstract(offer.name_));
  return offer;
}

Status ShmOffer::give(int takers, Nanos timeout) {
  const TimePoint give_up = deadline_after(timeout);
  while (takers > 0) {
    RW_TRY(await(listener_.get(), give_up, "a rank to ask for the shm exchange"));
    RW_ASSIGN_OR_RETURN(const OwnedFd taker, accept_local(listener_.get()));
    if (!taker || !check_same_user(taker.get()).ok()) continue;
    if (send_with_fd(taker.get(), {&kGreeting, 1}, memory_.get()) == 1) --takers;
  }
  return {};
}

Result<ShmMemory> take_shm_memory(const std::string& name, std::size_t bytes, Nanos timeout) {
  const TimePoint give_up = deadline_after(timeout);
  OwnedFd giver;
  while (!giver) {
    auto dialled = dial_abstract(name);
    if (dialled.ok()) {
      giver = std::move(*dialled);
    } else if (dialled.status().system_errno() != EAGAIN || now() >= give_up) {
      return dialled.status();
    } else {
      ::poll(nullptr, 0, kRetry.count());
    }
  }
  RW_TRY(check_same_user(giver.get()));
  RW_TRY(await(giver.get(), give_up, "the descriptor of the shm exchange"));
  std::byte greeting{};
  OwnedFd memory;
  if (recv_with_fd(giver.get(), {&greeting, 1}, memory) != 1 || greeting != kGreeting || !memory)
    return Status(Code::remote, Scope::engine,
                  fmt::format("the rank that offers the shm exchange at '{}' sent no descriptor", name));
  RW_TRY(check_sealed_memory(memory.get(), bytes));
  return ShmMemory::map(memory.get(), bytes);
}

}  // namespace railweave::collectives
