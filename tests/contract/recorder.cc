#include "tests/contract/recorder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace railweave::wire::contract {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardByte{0xA5}, kReleasedByte{0xEE};

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x9E3779B97F4A7C15u;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9u;
  return x ^ (x >> 32);
}

// Returns the eight payload bytes at word `index`.
std::uint64_t word(const FrameName& name, std::size_t index) {
  return mixed((name.seq << 24) + (std::uint64_t{name.sender} << 60) + index + 1);
}

}  // namespace

std::array<std::byte, kHeaderBytes> encode(const FrameName& name) {
  std::array<std::byte, kHeaderBytes> header;
  std::memcpy(header.data(), &name, sizeof name);
  const std::uint64_t rest[6] = {mixed(name.seq + 1), mixed(name.size + 3u), mixed(name.sender + 7u),
                                 ~name.seq,           mixed(~name.seq),      mixed(name.seq << 1)};
  static_assert(sizeof name + sizeof rest == kHeaderBytes);
  std::memcpy(header.data() + sizeof name, rest, sizeof rest);
  return header;
}

FrameName decode(std::span<const std::byte, kHeaderBytes> header) {
  FrameName name;
  std::memcpy(&name, header.data(), sizeof name);
  const auto whole = encode(name);
  EXPECT_TRUE(std::equal(header.begin(), header.end(), whole.begin())) << "damaged header, seq " << name.seq;
  return name;
}

void fill(const FrameName& name, std::span<std::byte> payload) {
  for (std::size_t at = 0; at < payload.size(); at += 8) {
    const std::uint64_t w = word(name, at / 8);
    std::memcpy(payload.data() + at, &w, std::min<std::size_t>(8, payload.size() - at));
  }
}

std::size_t first_wrong(const FrameName& name, std::span<const std::byte> payload) {
  for (std::size_t at = 0; at < payload.size(); at += 8) {
    const std::uint64_t w = word(name, at / 8);
    std::byte bytes[8];
    std::memcpy(bytes, &w, 8);
    for (std::size_t i = 0; i < 8 && at + i < payload.size(); ++i)
      if (payload[at + i] != bytes[i]) return at + i;
  }
  return payload.size();
}

FrameName Recorder::queue_from(std::span<std::byte> memory, std::size_t size) {
  Outgoing out{{sender_, std::uint32_t(size), next_seq_++}, memory, nullptr};
  if (memory.empty() && size > 0) {
    out.owned = std::make_unique_for_overwrite<std::byte[]>(size);
    out.memory = {out.owned.get(), size};
  }
  fill(out.name, out.memory);
  outgoing_.push_back(std::move(out));
  ++queued;
  return outgoing_.back().name;
}

std::size_t Recorder::write() {
  last_write = {};
  if (!write_error.ok()) return 0;
  auto moved = lane_.write(*this);
  if (!moved.ok()) {
    write_error = moved.status();
    return 0;
  }
  last_write = *moved;
  return moved->bytes;
}

void Recorder::add(Incoming in) {
  if (!in.discarded && in.memory.empty()) {
    in.owned = std::make_unique_for_overwrite<std::byte[]>(in.name.size + 2 * kGuard);
    std::fill_n(in.owned.get(), in.name.size + 2 * kGuard, kGuardByte);
    in.memory = {in.owned.get() + kGuard, in.name.size};
  }
  incoming_.push_back(std::move(in));
}

std::size_t Recorder::read(std::size_t budget_bytes) {
  last_read = {};
  if (!read_error.ok()) return 0;
  auto moved = lane_.read(*this, budget_bytes);
  if (!moved.ok()) {
    read_error = moved.status();
    return 0;
  }
  last_read = *moved;
  return moved->bytes;
}

std::string Recorder::describe() const {
  return fmt::format("{} queued, {} taken, {} written, {} released, {} arrived, {} expected; read '{}', write '{}'",
                     queued, taken, handed, freed, arrived, incoming_.size(), read_error.message(),
                     write_error.message());
}

std::size_t Recorder::next_frames(std::span<OutFrame> frames) {
  EXPECT_FALSE(frames.empty());
  const std::size_t n = std::min({frames.size(), queued - taken, frames_per_ask});
  for (std::size_t i = 0; i < n; ++i) {
    const Outgoing& out = outgoing_[taken - freed + i];
    frames[i].header = encode(out.name);
    frames[i].payload = out.memory;
    taken_bytes += kHeaderBytes + out.memory.size();
  }
  taken += n;
  return n;
}

void Recorder::written(std::size_t n) {
  EXPECT_GT(n, 0u);
  handed += n;
  EXPECT_LE(handed, taken) << "written() for frames that were never taken";
}

void Recorder::released(std::size_t n) {
  EXPECT_GT(n, 0u);
  freed += n;
  ASSERT_LE(freed, handed) << "released() before written()";
  for (; n > 0; --n) {
    Outgoing& out = outgoing_.front();
    if (out.owned) std::fill(out.memory.begin(), out.memory.end(), kReleasedByte);
    outgoing_.pop_front();
  }
}

Result<Target> Recorder::header(std::span<const std::byte, kHeaderBytes> bytes) {
  EXPECT_FALSE(header_answered_) << "a header inside a payload";
  EXPECT_TRUE(read_error.ok()) << "a header after the lane's error";
  if (!answer_to_header.ok()) return answer_to_header;
  const FrameName name = decode(bytes);
  if (incoming_.empty() || !(incoming_.front().name == name)) {
    ADD_FAILURE() << "unexpected frame, seq " << name.seq << " size " << name.size << "; " << describe();
    return Status(Code::internal, Scope::lane, "unexpected frame");
  }
  header_answered_ = true;
  const Incoming& in = incoming_.front();
  if (in.discarded) return Target{{static_cast<std::byte*>(nullptr), name.size}};
  return Target{in.memory, in.name.seq % 3 == 0};  // every third target is read_while_landing
}

Status Recorder::consumed(std::span<const std::byte, kHeaderBytes> bytes) {
  EXPECT_TRUE(header_answered_);
  header_answered_ = false;
  if (!answer_to_consumed.ok()) return answer_to_consumed;
  const FrameName name = decode(bytes);
  if (incoming_.empty() || !(incoming_.front().name == name)) {
    ADD_FAILURE() << "consumed an unexpected frame, seq " << name.seq << "; " << describe();
    return Status(Code::internal, Scope::lane, "unexpected frame");
  }
  const Incoming& in = incoming_.front();
  if (in.checked) {
    EXPECT_EQ(first_wrong(name, in.memory), in.memory.size()) << "wrong payload, seq " << name.seq;
  }
  check_guards(in);
  incoming_.pop_front();
  ++arrived;
  return Status();
}

void Recorder::check_guards(const Incoming& in) const {
  if (!in.owned) return;
  const auto is_guard = [](std::byte b) { return b == kGuardByte; };
  EXPECT_TRUE(std::all_of(in.owned.get(), in.owned.get() + kGuard, is_guard)) << "written before the place";
  EXPECT_TRUE(std::all_of(in.memory.data() + in.memory.size(), in.memory.data() + in.memory.size() + kGuard, is_guard))
      << "written behind the place";
}

}  // namespace railweave::wire::contract
