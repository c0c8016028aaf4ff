// Dumps of a hung or failed job (docs/guide/hung_jobs.md): each rank writes a file that says which operations it is in,
// whom they wait for, and where its Python threads are. `railweave explain` joins the files of all ranks.
//
// Threads: any, also while the main thread hangs or holds the GIL. No function throws. A dump waits for the runner's
// lock, a second at most for the GIL, and four seconds at most for its folder. A thread that waits for a folder longer
// stays behind (railweave-dump).
// Fork: a child has dumps of its own, of groups that it made itself.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::torch_ext {

class GroupProgress;

// Sets where dump_failure() writes; empty: nowhere. Warns in the log if the folder cannot be made.
void set_dump_folder(const std::string& folder);
// True if dump_failure() writes.
bool dumps_failures();

// Adds a group to all dumps, for as long as it lives.
void add_to_dumps(const std::shared_ptr<const GroupProgress>& group);

// Writes a dump because the program asked for it; `folder` empty: into the folder of set_dump_folder(). Returns the
// path. Errors: invalid_argument (no folder, no group), system with errno (ETIMEDOUT: the folder does not answer),
// exhausted (no memory).
Result<std::string> write_asked_dump(const std::string& folder);

// Writes a dump because a group fails, and says in the log where. `reason`: "timeout" or "failed". Writes none soon
// after another: groups fail together, and the first dump has them all.
void dump_failure(const char* reason, const std::string& why) noexcept;

}  // namespace railweave::torch_ext
