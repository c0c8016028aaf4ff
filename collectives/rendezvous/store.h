// A small key-value space for rendezvous that all ranks reach (a folder, a TCP root, torch's Store). A store never
// carries the data of operations.
// Threads: any, unless an implementation says otherwise.
// Fork: a store belongs to the process that opened it. A forked child may only destroy its copy, which ends and frees
// nothing of the parent's. claim(), and any request to a tcp_store, returns internal in a child.
// The claims of a dead parent stay held while a child exists that has not called exec.
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
  // No function of a Store may throw. Keys and values are any bytes, up to the two limits. set() replaces a value.
  virtual Status set(const std::string& key, const std::string& value) = 0;
  // Waits until the key exists; other threads can use the store meanwhile. Errors: timed_out (the message names the
  // key), system, remote (the store is gone: its keeper died), cancelled (its keeper left in order).
  virtual Result<std::string> get(const std::string& key, Nanos timeout) = 0;
  // Removes the key; a missing key is no error.
  virtual Status remove(const std::string& key) = 0;

  // --- optional abilities; the defaults do less
  // Sets the key and sends it to all connected clients, which can get() it even with the store gone. Default: set().
  virtual Status publish(const std::string& key, const std::string& value) { return set(key, value); }
  // Claims the key for this Store until as many release() calls, or until this Store or its process ends. Claims nest.
  // Errors: exhausted, another living holder has the key. A store that cannot know its living holders returns OK.
  virtual Status claim(const std::string&) { return {}; }
  // Releases one claim without waiting; other processes may see the release a little later. REQUIRES: a claim() of this
  // key returned OK.
  virtual void release(const std::string&) {}
  // Returns whether keys and values are in this process and end with it.
  virtual bool kept_here() const { return false; }
};

// Opens a store in a folder that all ranks see. A missing folder is made; its removal is left to the caller.
// Claims are locks (flock).
Result<std::unique_ptr<Store>> file_store(const std::string& folder);

// Opens a TCP store. Rank 0 (`serve`) serves at host:port until its store is destroyed. Each rank connects and sends
// one request, within `timeout`; the answer may take 5 s more.
// Published keys stay readable at the connected clients, even after the server ends, until they are removed.
// `port` 0 at rank 0: any free port; `served_port` (may be null) receives the port in use.
Result<std::unique_ptr<Store>> tcp_store(const std::string& host, std::uint16_t port, bool serve, Nanos timeout,
                                         std::uint16_t* served_port = nullptr);

}  // namespace railweave::collectives
