// What a process counts and measures while it runs, and a registry where a scrape finds it (decision D13: watching
// costs nothing).
//
// Writers do one relaxed atomic operation: no lock, no allocation, no system call. A scrape reads the atomics under the
// registry's mutex, which no writer takes. Values of one scrape are not of one moment.
//
// Cache lines: metrics with one writer may share a line, and the struct that holds them starts on one of its own
// (alignas(kCacheLineBytes)). A SharedCounter has a line for itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "base/mutex.h"

namespace railweave {

// value(): any thread.
class Metric {
 public:
  Metric(const Metric&) = delete;
  Metric& operator=(const Metric&) = delete;
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 protected:
  Metric() = default;
  ~Metric() = default;
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  std::atomic<std::uint64_t> value_{0};
};

// Only grows. One writer at a time, as a claim or a mutex orders them: add() costs no more than on a plain integer.
class Counter : public Metric {
 public:
  void add(std::uint64_t n = 1) { value_.store(value() + n, std::memory_order_relaxed); }
};

// Only grows. Any thread adds: one locked instruction, dearer the more threads add at once.
class alignas(kCacheLineBytes) SharedCounter : public Metric {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
};

// What is true now. Any thread sets it; the last one counts.
class Gauge : public Metric {
 public:
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
};

enum class MetricKind : std::uint8_t { counter, gauge };

// What metrics of one name have in common. A constant of the program: the registry keeps its address.
struct MetricInfo {
  std::string_view name;  // "lane_bytes_sent": snake_case, without unit and without a prefix
  std::string_view unit;  // "bytes", "ns", "bytes/s"; "1": a number of things
  std::string_view help;  // one line: what is counted or measured
};

// "rail" = "eth0". They tell metrics of one name apart.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Threads: any. The mutex is held while one object registers, unregisters, or a scrape visits. Memory: registering
// allocates, and throws std::bad_alloc. Fork: of no use in a child, since fork may have caught the mutex locked.
class MetricsRegistry {
 public:
  // A metric by its name. Counters and gauges are told apart by their types.
  class Named {
   public:
    Named(const MetricInfo& info, const Counter& counter) : Named(info, counter, MetricKind::counter) {}
    Named(const MetricInfo& info, const SharedCounter& counter) : Named(info, counter, MetricKind::counter) {}
    Named(const MetricInfo& info, const Gauge& gauge) : Named(info, gauge, MetricKind::gauge) {}

   private:
    friend class MetricsRegistry;
    Named(const MetricInfo& info, const Metric& metric, MetricKind kind)
        : info_(&info), metric_(&metric), kind_(kind) {}

    const MetricInfo* info_;
    const Metric* metric_;
    MetricKind kind_;
  };

  // What a scrape sees of one metric. References: valid during the call.
  struct Sample {
    const MetricInfo& info;
    MetricKind kind;
    const MetricLabels& labels;
    std::uint64_t value;
  };

 private:
  struct Entry {
    MetricLabels labels;
    std::vector<Named> metrics;
  };

 public:
  // Metrics are visited as long as their Registration lives. Movable. REQUIRES: it ends before its metrics and before
  // the registry; an owner declares it after its metrics.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), place_(other.place_) {}
    Registration& operator=(Registration&& other) noexcept;
    ~Registration() { reset(); }
    // Unregisters now. After return no scrape reads the metrics. Nothing happens the second time.
    void reset();

   private:
    friend class MetricsRegistry;
    Registration(MetricsRegistry& registry, std::list<Entry>::iterator place) : registry_(&registry), place_(place) {}

    MetricsRegistry* registry_ = nullptr;
    std::list<Entry>::iterator place_;
  };

  MetricsRegistry() = default;
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;
  ~MetricsRegistry();

  // The metrics of one object, a lane or a rail, which share labels. Several may have the same name and labels: all are
  // visited, and the scrape adds them up. A counter leaves the sum with its registration: a total that must never fall
  // is a counter that stays.
  [[nodiscard]] Registration add(MetricLabels labels, std::vector<Named> metrics) RW_EXCLUDES(mutex_);

  // Calls `each` for every metric, in the order of registration. `each` does not wait, and does not register or
  // unregister: the mutex is held.
  void visit(const std::function<void(const Sample&)>& each) const RW_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::list<Entry> entries_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave
