#include "fake_group.h"

#include <atomic>
#include <cstring>

namespace railweave::perf::collective {
namespace {

using namespace collectives;

class OverWork : public Work {
 public:
  explicit OverWork(Status status) : status_(std::move(status)) {}
  bool test() override { return true; }
  Status wait(Nanos) override { return status_; }
  void abort() override {}
  void when_over(std::function<void(const Status&)> callback) override { callback(status_); }
  Status status() const override { return status_; }
  int source() const override { return -1; }
  std::size_t bytes() const override { return 0; }

 private:
  Status status_;
};

class StuckWork : public OverWork {
 public:
  StuckWork() : OverWork(Status(Code::cancelled, Scope::request, "aborted")) {}
  bool test() override { return aborted_; }
  Status wait(Nanos) override { return aborted_ ? status() : Status(Code::timed_out, Scope::request, "not over"); }
  void abort() override { aborted_ = true; }

 private:
  std::atomic<bool> aborted_{false};
};

class FakeGroup : public Group {
 public:
  FakeGroup(FakeWorld& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }
  Status schedule_by(const std::string&) override { return {}; }
  std::vector<UnfinishedCall> unfinished() override { return {}; }
  void when_failing(std::function<void(const Status&)>) override {}
  void ask_others() override {}

  WorkPtr all_gather(const void* input, void* output, std::size_t count, DataType type, Hints) override {
    const std::size_t bytes = count * size_bytes(type);
    world_.meet(rank_, {input, output}, [&](const std::vector<FakeWorld::Part>& parts) {
      for (const auto& to : parts) {
        for (std::size_t p = 0; p < parts.size(); ++p) {
          std::memmove(static_cast<std::byte*>(to.output) + p * bytes, parts[p].input, bytes);
        }
      }
    });
    return over({});
  }

  WorkPtr all_reduce(const void* input, void* output, std::size_t count, DataType, Reduction, Hints, double) override {
    world_.meet(rank_, {input, output}, [&](const std::vector<FakeWorld::Part>& parts) {
      std::vector<float> sums(count);
      for (const auto& from : parts) {
        for (std::size_t i = 0; i < count; ++i) sums[i] += static_cast<const float*>(from.input)[i];
      }
      for (const auto& to : parts) std::memcpy(to.output, sums.data(), count * sizeof(float));
      if (!world_.spoils) return;
      ++world_.spoilt;
      for (int i = 0; i < world_.spoilt; ++i) static_cast<float*>(parts[1].output)[2 * i] += 1;
    });
    return world_.instead ? world_.instead : over({});
  }

  WorkPtr barrier(Hints) override {
    world_.meet(rank_, {}, [](const std::vector<FakeWorld::Part>&) {});
    return over({});
  }

  WorkPtr all_gather_v(const void*, void*, std::span<const std::size_t>, DataType, Hints) override { return no(); }
  WorkPtr reduce_scatter(const void*, void*, std::size_t, DataType, Reduction, Hints, double) override { return no(); }
  WorkPtr reduce_scatter_v(const void*, void*, std::span<const std::size_t>, DataType, Reduction, Hints,
                           double) override {
    return no();
  }
  WorkPtr broadcast(const void*, void*, std::size_t, DataType, int, Hints) override { return no(); }
  WorkPtr reduce(const void*, void*, std::size_t, DataType, Reduction, int, Hints, double) override { return no(); }
  WorkPtr gather(const void*, void*, std::size_t, DataType, int, Hints) override { return no(); }
  WorkPtr scatter(const void*, void*, std::size_t, DataType, int, Hints) override { return no(); }
  WorkPtr all_to_all(const void*, void*, std::size_t, DataType, Hints) override { return no(); }
  WorkPtr all_to_all_v(const void*, void*, std::span<const std::size_t>, std::span<const std::size_t>, DataType,
                       Hints) override {
    return no();
  }
  WorkPtr send(const void*, std::size_t, int, std::uint32_t, Hints) override { return no(); }
  WorkPtr recv(void*, std::size_t, int, std::uint32_t, Hints) override { return no(); }
  void abort(const std::string&) override {}

 private:
  static WorkPtr over(Status status) { return work_over(std::move(status)); }
  static WorkPtr no() { return over(Status(Code::internal, Scope::request, "the fake has no such operation")); }

  FakeWorld& world_;
  int rank_;
};

}  // namespace

WorkPtr work_over(Status status) { return std::make_shared<OverWork>(std::move(status)); }
WorkPtr work_stuck() { return std::make_shared<StuckWork>(); }

void FakeWorld::meet(int rank, Part part, const std::function<void(const std::vector<Part>&)>& act) {
  std::unique_lock lock(mutex_);
  parts_[std::size_t(rank)] = part;
  if (++here_ == size()) {
    act(parts_);
    here_ = 0;
    ++round_;
    all_here_.notify_all();
    return;
  }
  all_here_.wait(lock, [&, round = round_] { return round_ != round; });
}

std::unique_ptr<collectives::Group> fake_group(FakeWorld& world, int rank) {
  return std::make_unique<FakeGroup>(world, rank);
}

}  // namespace railweave::perf::collective
