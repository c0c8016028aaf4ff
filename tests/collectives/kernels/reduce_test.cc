// Every type and reduction against the oracle, on every instruction set that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "collectives/kernels/job.h"
#include "oracle.h"

namespace railweave::collectives {
namespace {

constexpr std::uint8_t kUntouched = 0xa5;

// `bytes` bytes at any alignment, with a margin on both sides that must stay untouched.
class Memory {
 public:
  Memory(std::size_t bytes, std::size_t offset) : offset_(64 + offset), bytes_(bytes), all_(bytes + 192, kUntouched) {}
  std::uint8_t* data() { return all_.data() + offset_; }
  const std::uint8_t* data() const { return all_.data() + offset_; }
  bool margins_untouched() const {
    const auto untouched = [](std::uint8_t byte) { return byte == kUntouched; };
    return std::all_of(all_.begin(), all_.begin() + std::ptrdiff_t(offset_), untouched) &&
           std::all_of(all_.begin() + std::ptrdiff_t(offset_ + bytes_), all_.end(), untouched);
  }

 private:
  std::size_t offset_, bytes_;
  std::vector<std::uint8_t> all_;
};

// Operands with elements of every kind, at addresses of any alignment.
struct Inputs {
  std::vector<Memory> memory;
  std::vector<Operand> operands;

  Inputs(DataType type, std::size_t how_many, std::size_t count, std::mt19937_64& random, bool all_raw = false) {
    memory.reserve(how_many);
    for (std::size_t k = 0; k < how_many; ++k) {
      const bool partial = !all_raw && random() % 2;
      memory.emplace_back(count * bytes_of(type, partial), random() % 64);
      fill(type, partial, memory.back().data(), count, random);
      operands.push_back({memory.back().data(), partial});
    }
  }
};

std::vector<Reducing> reductions_of(DataType type, std::mt19937_64& random) {
  std::vector<Reducing> all;
  for (int r = 0; r < kReductions; ++r) {
    if (!supports(type, Reduction(r))) continue;
    const double factors[] = {0.5, -3, 1.0 / 3, 2.75, 1e9, -0.0};
    all.push_back({type, Reduction(r), int(1 + random() % 9), factors[random() % 6]});
  }
  return all;
}

class Reduce : public testing::TestWithParam<int> {
 protected:
  DataType type() const { return DataType(GetParam()); }
  std::mt19937_64 random_{std::uint64_t(GetParam()) + 1};

  // Checks a reduction to fresh memory, on every target.
  void check(const Reducing& how, const Inputs& inputs, bool finish, std::size_t count) {
    const auto want = expected(how, inputs.operands, finish, count);
    for (const Target target : targets()) {
      Memory to(want.size(), random_() % 64);
      reduce_on(target, how, inputs.operands, to.data(), finish, count);
      compare(how, target, finish, count, to, want);
      ASSERT_FALSE(HasFatalFailure());
    }
  }

  // Checks a reduction onto the memory of operand `in_place`, unless the result is wider.
  void check_in_place(const Reducing& how, std::size_t operands, std::size_t in_place, bool finish, std::size_t count) {
    for (const Target target : targets()) {
      Inputs inputs(type(), operands, count, random_);
      if (bytes_of(type(), !finish) > bytes_of(type(), inputs.operands[in_place].partial)) continue;
      const auto want = expected(how, inputs.operands, finish, count);
      reduce_on(target, how, inputs.operands, inputs.memory[in_place].data(), finish, count);
      compare(how, target, finish, count, inputs.memory[in_place], want);
      ASSERT_FALSE(HasFatalFailure());
    }
  }

  static void compare(const Reducing& how, Target target, bool finish, std::size_t count, const Memory& to,
                      const std::vector<std::uint8_t>& want) {
    ASSERT_EQ(first_difference(how.type, !finish, to.data(), want.data(), count), -1)
        << name(how.type) << " " << name(how.reduction) << " target " << int(target) << " finish " << finish
        << " count " << count << " ranks " << how.ranks << " factor " << how.factor;
    ASSERT_TRUE(to.margins_untouched()) << name(how.type) << " " << name(how.reduction) << " count " << count;
  }
};

TEST_P(Reduce, every_length_at_any_address) {
  for (std::size_t count = 0; count <= 130; ++count)
    for (const Reducing& how : reductions_of(type(), random_))
      check(how, Inputs(type(), 2, count, random_, true), true, count);
}

TEST_P(Reduce, lengths_around_what_is_done_at_once) {
  for (const std::size_t count : {255, 256, 257, 511, 513, 2047, 2049, 4099})
    for (const Reducing& how : reductions_of(type(), random_))
      check(how, Inputs(type(), 2, count, random_, true), true, count);
}

TEST_P(Reduce, any_number_of_operands_in_any_form) {
  for (std::size_t operands = 1; operands <= 9; ++operands)
    for (const std::size_t count : {1, 7, 64, 331})
      for (const bool finish : {false, true})
        for (const Reducing& how : reductions_of(type(), random_))
          check(how, Inputs(type(), operands, count, random_), finish, count);
}

TEST_P(Reduce, more_operands_than_are_read_at_once) {
  for (const std::size_t operands : {16, 17, 31, 32, 40})
    for (const bool finish : {false, true})
      for (const Reducing& how : reductions_of(type(), random_))
        check(how, Inputs(type(), operands, 71, random_), finish, 71);
  for (const Reducing& how : reductions_of(type(), random_)) check(how, Inputs(type(), 18, 5003, random_), true, 5003);
}

TEST_P(Reduce, in_place_on_each_operand) {
  for (const std::size_t operands : {1, 2, 3, 4, 19})
    for (std::size_t in_place = 0; in_place < operands; ++in_place)
      for (const std::size_t count : {1, 13, 63, 64, 65, 130, 1031}) {
        if (operands == 19 && (in_place % 6 != 0 || count != 130)) continue;
        for (const bool finish : {false, true})
          for (const Reducing& how : reductions_of(type(), random_))
            check_in_place(how, operands, in_place, finish, count);
      }
}

TEST_P(Reduce, a_large_one_by_the_public_call) {
  constexpr std::size_t kCount = 50'021;
  for (const std::size_t operands : {2, 5})
    for (const Reducing& how : reductions_of(type(), random_)) {
      const Inputs inputs(type(), operands, kCount, random_);
      const auto want = expected(how, inputs.operands, true, kCount);
      Memory to(want.size(), 3);
      reduce(how, inputs.operands, to.data(), true, kCount);
      compare(how, targets().back(), true, kCount, to, want);
      ASSERT_FALSE(HasFatalFailure());
    }
}

std::vector<int> reduced_types() {
  std::vector<int> types;
  for (int t = 0; t < kDataTypes; ++t)
    if (supports(DataType(t), Reduction::sum)) types.push_back(t);
  return types;
}

INSTANTIATE_TEST_SUITE_P(types, Reduce, testing::ValuesIn(reduced_types()),
                         [](const auto& type) { return std::string(name(DataType(type.param))); });

}  // namespace
}  // namespace railweave::collectives
