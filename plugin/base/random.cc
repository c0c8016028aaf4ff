#include "base/random.h"

#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"

namespace railweave {
namespace {

// Fallback for sandboxes without getrandom(). The kernel gave the process 16 random bytes at exec (AT_RANDOM); pid and
// time distinguish forks and calls.
std::array<std::uint8_t, 16> random_id_without_getrandom() {
  std::array<std::uint8_t, 16> id{};
  if (const auto at_exec = getauxval(AT_RANDOM))
    std::memcpy(id.data(), reinterpret_cast<const void*>(at_exec), id.size());
  const std::uint64_t marks[2] = {static_cast<std::uint64_t>(::getpid()) << 32,
                                  static_cast<std::uint64_t>(now().time_since_epoch().count())};
  std::array<std::uint8_t, sizeof marks> mark_bytes;
  std::memcpy(mark_bytes.data(), marks, sizeof marks);
  for (std::size_t i = 0; i < id.size(); ++i) id[i] ^= mark_bytes[i];
  return id;
}

}  // namespace

std::array<std::uint8_t, 16> random_id() {
  std::array<std::uint8_t, 16> id;
  ssize_t got;
  do {
    got = ::getrandom(id.data(), id.size(), 0);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(id.size()) ? id : random_id_without_getrandom();
}

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

Status fill_with_random(std::span<std::byte> bytes) {
  ssize_t got;
  do {
    got = ::getrandom(bytes.data(), bytes.size(), 0);  // never a part: up to 256 bytes come whole
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(bytes.size()) ? Status() : system_error(Scope::lane, "getrandom");
}

}  // namespace railweave
