#include "torch_ext/csrc/dumps.h"

#include <c10/util/Logging.h>
#include <c10/util/StringUtil.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "base/bounded_call.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/process_origin.h"
#include "base/scope_exit.h"
#include "torch_ext/csrc/dump_file.h"
#include "torch_ext/csrc/dump_text.h"
#include "torch_ext/csrc/group_progress.h"
#include "torch_ext/csrc/python_stacks.h"

namespace railweave::torch_ext {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kStackPatience = 1s;  // a thread that runs Python gives the GIL back every 5 ms
// How long a dump waits for its folder, which may be on a network's file system that hangs. With kStackPatience no more
// than the five seconds for which a failing group waits for its report.
constexpr Nanos kFolderPatience = 4s;
constexpr Nanos kFailuresApart = 10s;  // between two dumps of failures
constexpr int kFailuresMost = 8;       // dumps of failures of one process

struct Dumps {
  std::atomic<bool> on_failure{false};  // folder is not empty
  Mutex mutex;
  std::string folder RW_GUARDED_BY(mutex);
  std::vector<std::weak_ptr<const GroupProgress>> groups RW_GUARDED_BY(mutex);
  // Held while a dump is written: the caller of a second one must not go on before the first file is complete.
  Mutex writing;
  // These two are used by the thread that writes, which may stay behind.
  std::atomic<int> number{0};               // of the next file
  std::atomic<bool> under_way{false};       // the file is not complete
  int failures RW_GUARDED_BY(writing) = 0;  // dumps of failures so far
  TimePoint failed_at RW_GUARDED_BY(writing){};
};

// Never destroyed, because threads may outlive the objects of a process that exits. A forked child has its own, because
// the parent's mutexes may be held for ever.
Dumps& dumps() {
  static Dumps* const of_parent = new Dumps;
  static const ProcessOrigin origin;
  if (!origin.in_child()) return *of_parent;
  static Dumps* const of_child = new Dumps;
  return *of_child;
}

// Returns this process's rank in its largest group.
std::uint64_t rank_of(const std::vector<GroupState>& groups) {
  const auto largest =
      std::ranges::max_element(groups, {}, [](const GroupState& g) { return g.identity.ranks.size(); });
  return largest->identity.ranks[std::size_t(largest->identity.rank)];
}

std::vector<std::shared_ptr<const GroupProgress>> living(Dumps& all) {
  std::vector<std::shared_ptr<const GroupProgress>> found;
  const MutexLock lock(all.mutex);
  for (const auto& weak : all.groups)
    if (auto group = weak.lock()) found.push_back(std::move(group));
  return found;
}

// Runs `task`, which uses `folder`, for kFolderPatience at most.
Result<std::string> within_patience(const std::string& folder, std::function<Result<std::string>()> task) {
  auto result = call_within<std::string>(kFolderPatience, "railweave-dump", std::move(task));
  if (result.status().code() != Code::timed_out) return result;
  return Status(Code::system, Scope::request, folder + " does not answer", ETIMEDOUT);
}

Result<std::string> write_text(Dumps& all, const std::string& folder, std::string stem, std::string text)
    RW_REQUIRES(all.writing) {
  if (all.under_way)
    return Status(Code::system, Scope::request, "the folder of an earlier dump does not answer", ETIMEDOUT);
  all.under_way = true;
  auto path = within_patience(folder, [&all, folder, stem = std::move(stem), text = std::move(text)] {
    const ScopeExit over([&all] { all.under_way = false; });
    return write_dump_file(folder, stem, all.number, text);
  });
  if (path.status().system_errno() != ETIMEDOUT) all.under_way = false;  // also without a thread
  return path;
}

Result<std::string> write_dump(Dumps& all, const std::string& folder, const char* reason, const std::string& why)
    RW_REQUIRES(all.writing) {
  const auto groups = living(all);
  if (groups.empty())
    return Status(Code::invalid_argument, Scope::request, "this process has no process group of Railweave");
  Dump dump{
      .reason = reason, .why = why, .host = host_in_file_names(), .pid = int(::getpid()), .groups = {}, .stacks = {}};
  for (const auto& group : groups) dump.groups.push_back(group->state());
  dump.stacks = python_stacks(kStackPatience);
  std::string stem = c10::str("railweave-", dump.host, "-", dump.pid, "-", rank_of(dump.groups));
  return write_text(all, folder, std::move(stem), dump_text(dump));
}

}  // namespace

void set_dump_folder(const std::string& folder) {
  Dumps& all = dumps();
  {
    const MutexLock lock(all.mutex);
    all.folder = folder;
    all.on_failure = !folder.empty();
  }
  if (folder.empty()) return;
  const Status made = within_patience(folder, [folder]() -> Result<std::string> {
                        RW_TRY(make_dump_folder(folder));
                        return folder;
                      }).status();
  if (!made.ok())
    LOG(WARNING) << "railweave: RAILWEAVE_DUMP_DIR: a group that fails writes no dump: " << made.message();
}

bool dumps_failures() { return dumps().on_failure; }

void add_to_dumps(const std::shared_ptr<const GroupProgress>& group) {
  Dumps& all = dumps();
  const MutexLock lock(all.mutex);
  std::erase_if(all.groups, [](const auto& one) { return one.expired(); });
  all.groups.push_back(group);
}

Result<std::string> write_asked_dump(const std::string& given) {
  Dumps& all = dumps();
  std::string folder = given;
  if (folder.empty()) {
    const MutexLock lock(all.mutex);
    folder = all.folder;
  }
  if (folder.empty())
    return Status(Code::invalid_argument, Scope::request,
                  "found no folder: pass one, or set RAILWEAVE_DUMP_DIR before the first process group");
  const MutexLock lock(all.writing);
  try {
    return write_dump(all, folder, "asked", "");
  } catch (const std::exception& error) {
    return Status(Code::exhausted, Scope::request, error.what());
  }
}

void dump_failure(const char* reason, const std::string& why) noexcept {
  Dumps& all = dumps();
  if (!all.on_failure) return;
  try {
    std::string folder;
    {
      const MutexLock lock(all.mutex);
      folder = all.folder;
    }
    const MutexLock lock(all.writing);
    if (all.failures == kFailuresMost || (all.failures > 0 && now() - all.failed_at < kFailuresApart)) return;
    const Result<std::string> path = write_dump(all, folder, reason, why);
    if (path.ok()) {
      LOG(WARNING) << "railweave: wrote what this rank waits for to " << path.value() << "; `railweave explain "
                   << folder << "` joins the files of all ranks";
    } else {
      LOG(WARNING) << "railweave: wrote no dump: " << path.status().message();
    }
    ++all.failures;
    all.failed_at = now();
  } catch (const std::exception& error) {
    LOG(WARNING) << "railweave: wrote no dump: " << error.what();
  }
}

}  // namespace railweave::torch_ext
