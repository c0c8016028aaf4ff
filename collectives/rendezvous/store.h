// Where ranks meet: a small key-value space that all of them reach (a folder, a TCP root, torch's Store). Never for
// data.
// Threads: any, unless an implementation says otherwise.
// Fork: a store is the process's that opened it. A child may destroy its copy, which ends and frees nothing of the
// parent's, and should do no more: what cannot be done there (claim(), any question to a tcp_store) answers internal.
// While it lives, and until it calls exec, what a dead parent had claimed is not free.
#pragma once

#include <memory>
#include <string>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

class Store {
 public:
  static constexpr std::size_t kKeyBytesMax = 4 * KiB, kValueBytesMax = 64 * KiB;

  virtual ~Store() = default;
  // Nothing here may throw. Keys and values are any bytes, up to those many; setting again replaces.
  virtual Status set(const std::string& key, const std::string& value) = 0;
  // Waits until the key is there, and keeps nobody else from asking meanwhile. Errors: timed_out (the message names the
  // key), system, remote (the store is gone: who kept it died), cancelled (who kept it left in order).
  virtual Result<std::string> get(const std::string& key, Nanos timeout) = 0;
  // A key that is not there is no error.
  virtual Status remove(const std::string& key) = 0;

  // --- what not every store can do
  // set(), and sent to all who are connected: they can get() it though the store be gone by then. Else just set().
  virtual Status publish(const std::string& key, const std::string& value) { return set(key, value); }
  // Ours until we have released it as often as claimed, or this Store or its process ends; again is fine. Errors:
  // exhausted, somebody else who is there holds it. Where it cannot be known who is there: OK.
  virtual Status claim(const std::string&) { return {}; }
  // Waits for nobody: the others may see it a little later. REQUIRES: a claim() of this key was OK.
  virtual void release(const std::string&) {}
  // Keys and values are in this process, and end with it.
  virtual bool kept_here() const { return false; }
};

// A folder that all ranks see; made if missing, and left to the caller. Claims are locks (flock).
Result<std::unique_ptr<Store>> file_store(const std::string& folder);

// Rank 0 serves at host:port until its store is destroyed; the others connect and ask it something, waiting up to
// `timeout` for it, and 5 s more for the answer.
// Keys that were told are there for the others for good.
// port 0 at rank 0: any; `served_port` (may be null) tells which.
Result<std::unique_ptr<Store>> tcp_store(const std::string& host, std::uint16_t port, bool serve, Nanos timeout,
                                         std::uint16_t* served_port = nullptr);

}  // namespace railweave::collectives
