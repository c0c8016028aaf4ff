#include "base/metrics.h"

#include <cassert>

namespace railweave {

MetricsRegistry::~MetricsRegistry() { assert(entries_.empty()); }

MetricsRegistry::Registration MetricsRegistry::add(MetricLabels labels, std::vector<Named> metrics) {
  std::list<Entry> fresh;  // the entry is allocated before the mutex is locked
  fresh.push_back({std::move(labels), std::move(metrics)});
  const auto place = fresh.begin();
  const MutexLock lock(mutex_);
  entries_.splice(entries_.end(), fresh);
  return Registration(*this, place);
}

void MetricsRegistry::visit(const std::function<void(const Sample&)>& each) const {
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_)
    for (const Named& named : entry.metrics) each({*named.info_, named.kind_, entry.labels, named.metric_->value()});
}

MetricsRegistry::Registration& MetricsRegistry::Registration::operator=(Registration&& other) noexcept {
  if (this == &other) return *this;
  reset();
  registry_ = std::exchange(other.registry_, nullptr);
  place_ = other.place_;
  return *this;
}

void MetricsRegistry::Registration::reset() {
  MetricsRegistry* const registry = std::exchange(registry_, nullptr);
  if (registry == nullptr) return;
  std::list<Entry> gone;  // the entry is freed after the mutex is unlocked
  const MutexLock lock(registry->mutex_);
  gone.splice(gone.end(), registry->entries_, place_);
}

}  // namespace railweave
