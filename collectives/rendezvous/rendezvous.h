// How the ranks of a group find each other and agree, by way of the store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/group/group.h"

namespace railweave::collectives {

// Keys of one group in its store, all under its name.
class Rendezvous {
 public:
  Rendezvous(std::shared_ptr<Store> store, Group::Options options)
      : store_(std::move(store)), options_(std::move(options)) {}

  // Before anything else. Errors: exhausted, this rank is there already, of another job: whoever still meets is told.
  Status arrive();
  // Tells ours and waits for all; by rank. Errors: timed_out, naming the ranks that did not come. Who keeps the store
  // tells the others, for it may be gone with the store before their time is up.
  Result<std::vector<std::string>> exchange(const std::string& what, const std::string& own);
  // One value for all: rank 0's. Errors: timed_out; as given_up().
  Result<std::string> agree(const std::string& key, const std::string& value);
  // An error if somebody who was through with it before us had to say (report_failure()) why it failed.
  Status given_up() const;
  bool keeps_store() const { return store_->kept_here(); }
  // The rank that does, if it is one of ours: when the store is gone it has died.
  void store_kept_by(int rank) { keeper_ = rank; }
  // Draws what tells this group from others of its name, and takes away what they left.
  Status begin();
  // All are through with exchange() and agree(): what we told is taken out of the store. Again is fine.
  void tidy_up();
  // No group comes of it. If we have begun, the others are told why, if nobody has said so before. Rank 0, with whom
  // the store may go, waits until the others have taken back what they told, for a while. Likewise tidy_up().
  void give_up(const Status& why);

  // The first of the group to notice a loss tells the others who is to blame; answers what the first said, and who that
  // was if it was another rank. Any thread.
  // The key, NAME/lost, outlives the group: nobody can know that all the others have asked. There is one of a name at
  // most, and the next group of that name takes it away. REQUIRES: nobody hears of our end before it is back, so that a
  // loss which is due to ours finds what we said.
  std::string report_failure(const Status& why) const;
  // While nothing moves: what this rank does, and what another told of itself (empty: nothing, in this life of the
  // group). Any thread. What was told is taken back by the rank that told it.
  void publish_progress(const std::string& what) const;
  std::string progress_of(int rank) const;
  void withdraw_progress() const;
  // What somebody said, and who, or empty. One question to the store, without waiting for somebody to say something.
  // Any thread.
  std::string first_failure() const;

 private:
  // Taken; free again when the last copy of this place is gone.
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
  Status take(int r, const std::string& told, std::string& value) const;
  Status abort_reason() const;  // why no group of this name comes about
  std::string progress_key(int rank) const { return key("at/" + std::to_string(rank)); }
  std::string key(const std::string& what) const { return options_.name + "/" + what; }

  const std::shared_ptr<Store> store_;
  const Group::Options options_;
  std::shared_ptr<const RankClaim> claim_;
  std::vector<std::string> published_;
  struct Announced {
    std::string what;
    std::vector<std::string> values;
  };
  std::shared_ptr<const Announced> came_;  // what all told first: of each try something else
  std::string old_abort_reason_;           // which one, of those who met here before us
  int keeper_ = -1;
  std::string epoch_;  // drawn by rank 0: a later group of this name is another
};

}  // namespace railweave::collectives
