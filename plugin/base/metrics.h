// Counters and gauges of a running process, and a registry through which a scrape reads them (decision D13: watching
// costs nothing).
//
// Threads: a writer does one relaxed atomic operation: no lock, no allocation, no system call. A scrape reads the
// atomics under the registry's mutex, which no writer takes. The values of one scrape are not of one moment.
//
// Memory: metrics with one writer may share a cache line, and the struct that holds them starts on a line of its own
// (alignas(kCacheLineBytes)). A SharedCounter has a cache line for itself.
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

// The value of a counter or gauge. value(): any thread.
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

// A count that only grows. REQUIRES: one writer at a time, ordered by a claim or a mutex. add() costs no more than on a
// plain integer.
class Counter : public Metric {
 public:
  void add(std::uint64_t n = 1) { value_.store(value() + n, std::memory_order_relaxed); }
};

// A count that only grows, and to which any thread adds: one locked instruction, slower the more threads add at once.
class alignas(kCacheLineBytes) SharedCounter : public Metric {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
};

// A current value. Any thread sets it; the last set() counts.
class Gauge : public Metric {
 public:
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
};

enum class MetricKind : std::uint8_t { counter, gauge };

// The name, unit and help that metrics of one name share. REQUIRES: lives as long as the process; the registry keeps
// its address.
struct MetricInfo {
  std::string_view name;  // "lane_bytes_sent": snake_case, without unit and without a prefix
  std::string_view unit;  // "bytes", "ns", "bytes/s"; "1": a number of things
  std::string_view help;  // one line: what is counted or measured
};

// Labels that distinguish metrics of one name, e.g. "rail" = "eth0".
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// The list of metrics that a scrape visits.
// Threads: any. The mutex is held during add(), reset() and visit(). Memory: add() allocates, and may throw
// std::bad_alloc. Fork: not to be used in a child, because fork may have caught the mutex locked.
class MetricsRegistry {
 public:
  // A metric with its name. The metric's type says whether it is a counter or a gauge.
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

  // One metric as a scrape sees it. The references are valid during the call.
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
  // Keeps metrics in the registry until its destruction. Movable. REQUIRES: ends before its metrics and before the
  // registry, so an owner declares its Registration after its metrics.
  class Registration {
   public:
    Registration() = default;
    Registration(Registration&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), place_(other.place_) {}
    Registration& operator=(Registration&& other) noexcept;
    ~Registration() { reset(); }
    // Unregisters the metrics. After return no scrape reads them. A second call does nothing.
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

  // Registers the metrics of one object, e.g. a lane or a rail; they share the labels. Several metrics may have the
  // same name and labels: all are visited, and the scrape adds them up. A counter leaves this sum with its
  // Registration, so a total that must never fall needs a counter that stays registered.
  [[nodiscard]] Registration add(MetricLabels labels, std::vector<Named> metrics) RW_EXCLUDES(mutex_);

  // Calls `each` for every metric, in the order of registration. REQUIRES: `each` does not wait, register or
  // unregister, because the mutex is held.
  void visit(const std::function<void(const Sample&)>& each) const RW_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::list<Entry> entries_ RW_GUARDED_BY(mutex_);
};

}  // namespace railweave
