// Barriers. monitored_barrier uses the store, because a rank that does not come must not end the group.
#include <c10/util/StringUtil.h>

#include <algorithm>

#include "base/clock.h"
#include "torch_ext/csrc/backend.h"
#include "torch_ext/csrc/errors.h"
#include "torch_ext/csrc/torch_store.h"

namespace railweave::torch_ext {
namespace {

using namespace std::chrono_literals;

constexpr const char* kMonitored = "railweave:monitored_barrier";
constexpr Nanos kReadMost = 10s;  // for all ranks to read the verdict of rank 0

std::string ranks_text(const std::vector<int>& ranks) {
  return c10::str(ranks.size() == 1 ? "Rank " : "Ranks ", c10::Join(", ", ranks));
}

// At rank 0: returns the ranks that did not come in time; all of them, or the first.
std::vector<int> missing(collectives::Store& store, const std::string& prefix, int ranks, Nanos patience, bool all) {
  std::vector<int> late;
  const TimePoint end = now() + patience;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string key = c10::str(prefix, "here/", rank);
    if (!store.get(key, std::max(Nanos{0}, end - now())).ok()) {
      late.push_back(rank);
      if (!all) break;
    }
    static_cast<void>(store.remove(key));
  }
  return late;
}

// At rank 0: returns the failure, or an empty text. The words are the ones that users of Gloo's barrier look for.
std::string wait_for_all(collectives::Store& store, const std::string& prefix, int ranks,
                         std::chrono::milliseconds timeout, bool all) {
  if (timeout <= 0ms) return c10::str("Rank 0 timed out in monitoredBarrier after ", timeout.count(), " ms");
  const auto late = missing(store, prefix, ranks, Nanos(timeout), all);
  return late.empty() ? "" : c10::str(ranks_text(late), " failed to pass monitoredBarrier in ", timeout.count(), " ms");
}

}  // namespace

// Over when the barrier is over, and every collective that was called before it on this rank. Messages are not waited
// for.
RailweaveBackend::WorkPtr RailweaveBackend::barrier(const c10d::BarrierOptions& options) {
  Submission submission(c10d::OpType::BARRIER, caller("railweave:barrier"));
  std::vector<WorkPtr> earlier;
  for (const auto& work : in_flight_->all())
    if (!c10d::isP2POp(work->retrieveOpType())) earlier.push_back(work);
  submission.after(std::move(earlier));
  submission.call([](collectives::Group& group, const collectives::Hints& hints) { return group.barrier(hints); });
  return submit(std::move(submission), options.timeout);
}

void RailweaveBackend::monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all) {
  const auto given = options.timeout == c10d::kUnsetTimeout ? timeout() : options.timeout;
  const auto patience = std::min<std::chrono::milliseconds>(given, std::chrono::hours(24 * 365));
  const auto store = store_of(store_);
  const std::string prefix = c10::str("railweave/monitored/", monitored_++, "/");
  if (rank_ != 0) {
    check_ok(store->set(c10::str(prefix, "here/", rank_), ""), kMonitored);
    const auto verdict = store->get(prefix + "verdict", Nanos(patience) + Nanos(1s));
    static_cast<void>(store->set(c10::str(prefix, "read/", rank_), ""));
    TORCH_CHECK(verdict.ok() && verdict.value().empty(), "Rank ", rank_,
                " successfully reached monitoredBarrier, but received errors "
                "while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank. ",
                verdict.ok() ? verdict.value() : verdict.status().message());
    return;
  }
  const std::string verdict = wait_for_all(*store, prefix, size_, patience, wait_all);
  check_ok(store->set(prefix + "verdict", verdict), kMonitored);
  TORCH_CHECK(verdict.empty(), "[Rank 0]: ", verdict);
  const TimePoint end = now() + kReadMost;
  for (int rank = 1; rank < size_; ++rank) {
    const std::string key = c10::str(prefix, "read/", rank);
    if (store->get(key, std::max(Nanos{0}, end - now())).ok()) static_cast<void>(store->remove(key));
  }
  static_cast<void>(store->remove(prefix + "verdict"));
}

}  // namespace railweave::torch_ext
