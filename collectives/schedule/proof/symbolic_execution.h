// Executes the schedules of all ranks on symbols, under the executor's strictest rules. Messages to and from each peer
// are posted in order, a bounded number at once. A send is done only when its receive is posted. Schedules that
// complete under these rules also complete under more permissive ones.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "collectives/schedule/proof/contents.h"
#include "collectives/schedule/proof/describe.h"
#include "collectives/schedule/proof/symbols.h"

namespace railweave::collectives::proof {

class SymbolicExecution {
 public:
  // REQUIRES: check_shape() and check_races() found nothing on any rank. The spans outlive this object.
  SymbolicExecution(std::span<const Problem> problems, std::span<const Schedule> schedules, std::size_t window);
  // Runs all schedules and checks the outputs. Errors: internal. Call once.
  Status run();

 private:
  using Complaint = std::string;  // empty: no fault
  struct Queue {                  // messages of one rank to one peer, or from one peer
    std::vector<std::uint32_t> steps;
    std::size_t posted = 0, done = 0;
  };
  struct Rank {
    std::array<Contents, 3> memory;                     // by place
    std::vector<Queue> sends, receives;                 // by peer
    std::vector<std::uint32_t> waits;                   // by step: number of dependencies that are not done
    std::vector<std::vector<std::uint32_t>> followers;  // by step: the steps that wait for it
    std::vector<std::uint32_t> ready;                   // steps without open dependencies, not processed yet
    std::size_t done = 0;
  };

  void prepare(std::size_t rank);
  Status check_messages() const;
  Status run_ready(std::size_t rank);
  Status post(std::size_t from, std::size_t to);
  Status deliver(std::size_t from, std::size_t to);
  Complaint copy(std::size_t from_rank, const Piece& from, std::size_t to_rank, const Piece& to);
  Complaint reduce(std::size_t rank, const Step& step);
  Complaint read(std::size_t rank, const Piece& piece, std::vector<Run>& runs) const;
  void write(std::size_t rank, const Piece& piece, std::span<const Run> runs);
  void finish(std::size_t rank, std::uint32_t step);
  Status stuck() const;
  Status check_outcome() const;

  std::span<const Problem> problems_;
  std::span<const Schedule> schedules_;
  std::size_t window_;
  Symbols symbols_;
  std::vector<Rank> ranks_;
  std::vector<std::size_t> runnable_;  // ranks with ready steps
};

}  // namespace railweave::collectives::proof
