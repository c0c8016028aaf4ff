// Lets the ranks of a group find each other, agree on values and report failures, through the store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/group/group.h"

namespace railweave::collectives {

// Keys of one group in its store; each key starts with NAME/, the group's name.
class Rendezvous {
 public:
  Rendezvous(std::shared_ptr<Store> store, Group::Options options)
      : store_(std::move(store)), options_(std::move(options)) {}

  // Claims this rank. REQUIRES: called before any other function. Errors: exhausted, another job holds this rank; the
  // abort reason is then published to the ranks that still meet.
  Status arrive();
  // Sets this rank's value and waits for the values of all ranks; returns them by rank. Errors: timed_out, naming the
  // missing ranks; exhausted, group sizes differ; a published abort reason; the store's. On timed_out the rank that
  // keeps the store publishes the abort reason: the store may end with that rank before the others time out.
  Result<std::vector<std::string>> publish_and_collect(const std::string& what, const std::string& own);
  // Returns rank 0's value at every rank. Errors: timed_out; as given_up(); a published abort reason; the store's.
  Result<std::string> agree(const std::string& key, const std::string& value);
  // Returns an error (remote) if a rank of this epoch has called report_failure(), with the reported text.
  Status given_up() const;
  bool keeps_store() const { return store_->kept_here(); }
  // Sets the rank that keeps the store, if a rank of this group does: the loss of the store is the loss of that rank.
  void store_kept_by(int rank) { keeper_ = rank; }
  // Draws the epoch, which tells this group from others of the same name. Rank 0 removes the keys that they left.
  Status begin();
  // Removes this rank's keys of publish_and_collect() and agree() from the store, once all ranks are through with both
  // or the rendezvous has failed. A second call does nothing.
  void tidy_up();
  // Ends a rendezvous that fails. After begin(), publishes `why` unless another rank has reported a failure before.
  // Rank 0, with which the store may end, then waits up to 2 s until the others have removed their keys. Calls
  // tidy_up() last.
  void give_up(const Status& why);

  // Publishes `why` unless another rank has reported a failure first. Returns the first reported text; the text names
  // its rank if another rank reported it. With the store gone, the text may name its keeper as lost. Threads: any.
  // The key, NAME/failure, outlives the group: no rank can know that all others have read it. A name has at most one
  // such key, and the next group of that name removes it.
  // REQUIRES: no peer learns of this rank's end before report_failure() returns; a peer that loses this rank then finds
  // the reported cause.
  std::string report_failure(const Status& why) const;
  // Progress reports while no operation advances. progress_of() returns a rank's report; empty: none in this epoch.
  // Each rank removes its own report with withdraw_progress(). Threads: any.
  void publish_progress(const std::string& what) const;
  std::string progress_of(int rank) const;
  void withdraw_progress() const;
  // Returns the failure that a rank has reported in this epoch, with its rank; empty: none. Asks the store once and
  // does not wait for a report. Threads: any.
  std::string first_failure() const;

 private:
  // Holds the claim of a rank; releases the claim when the last copy of the Rendezvous is destroyed.
  class RankClaim {
   public:
    RankClaim(std::shared_ptr<Store> store, std::string key) : store_(std::move(store)), key_(std::move(key)) {}
    ~RankClaim() { store_->release(key_); }
    RankClaim(const RankClaim&) = delete;

   private:
    const std::shared_ptr<Store> store_;
    const std::string key_;
  };

  void await_departures() const;
  void record_abort(const Status& why, const std::string& id);
  Status take(int r, const std::string& published, std::string& value) const;
  Status abort_reason() const;  // OK: none published since arrive()
  std::string progress_key(int rank) const { return key("progress/" + std::to_string(rank)); }
  std::string key(const std::string& what) const { return options_.name + "/" + what; }

  const std::shared_ptr<Store> store_;
  const Group::Options options_;
  std::shared_ptr<const RankClaim> claim_;
  std::vector<std::string> published_;
  struct Announced {
    std::string what;
    std::vector<std::string> values;
  };
  std::shared_ptr<const Announced> came_;  // first completed publish_and_collect(); the values differ in each try
  std::string old_abort_reason_;           // id of the abort reason found at arrive(), which is ignored; empty: none
  int keeper_ = -1;
  std::string epoch_;  // drawn by rank 0, different for each group of this name; empty: before begin()
};

}  // namespace railweave::collectives
