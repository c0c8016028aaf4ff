// One rank's part of one operation, running: posts what is due on its channel's streams, runs kernels, until all is
// done.
//
// Threads: under the runner's lock. Memory: input and output are the caller's, untouched after it is done or destroyed
// along with its PeerStreams. Errors: the first one is final and names the rank it came from.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "collectives/exec/peer_streams.h"
#include "collectives/exec/plan.h"
#include "collectives/group/fingerprint.h"
#include "collectives/kernels/kernels.h"
#include "railweave/endpoint.h"

namespace railweave::collectives {

class Execution {
 public:
  struct Memory {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* scratch = nullptr;  // Schedule::scratch_bytes
  };

  struct Sending {
    int channel = 0;
    Priority priority = Priority::normal;  // of its streams
    std::uint64_t number = 0;              // of the operation; grows from one to the next on a channel
    bool first = false;                    // its messages have order 0 (see railweave::SendStream); else the number
  };

  // Lines up for its turn on every stream it will use. A message of another fingerprint is an error that names both.
  Execution(std::shared_ptr<const Plan> plan, const Memory& memory, const Reducing& how, Fingerprint fingerprint,
            PeerStreams& peers, const Sending& sending);

  // Does what can be done now; not `live`: posts nothing new. True: something moved.
  Result<bool> advance(bool live = true);
  bool done() const { return steps_left_ == 0; }
  // The fewest bytes that are posted and on their way on a flow that is not over: until these have moved, nothing is
  // late that only advance() could do. 0: something is due now, or may be any moment.
  std::size_t bytes_on_their_way() const;
  // Somebody waits for it: what it sends goes first, and what is ahead of that on its streams. Also those that come
  // later.
  void expedite();
  // The ranks whose message is due and not there; if there is none, those that have not taken ours. Ascending.
  std::vector<int> awaited() const;

 private:
  static constexpr std::size_t kPolledMost = 64;  // flows, by bytes_on_their_way()
  static constexpr std::size_t kPostedMax = 24;   // of one flow: enough to keep rails busy, few enough for one stream

  struct Posted {
    Request* request;
    std::uint32_t step;
  };
  struct FlowState {
    const Plan::Flow* flow;
    Outgoing* out = nullptr;          // of a flow that sends
    Incoming* in = nullptr;           // of one that receives
    const FlowState* twin = nullptr;  // of one that sends: what is received from the same peer
    std::size_t next = 0;             // of Flow::steps, to be posted
    std::deque<Posted> posted;
    Stream* stream() const {
      return out ? static_cast<Stream*>(out->stream.get()) : static_cast<Stream*>(in->stream.get());
    }
    StreamQueue& turns() const { return out ? out->turns : in->turns; }
  };

  Status check_due(const Step& step, const Progress& arrived) const;
  Status failure(const FlowState& flow, const Status& why) const;
  Status collect(FlowState& flow, bool drive, bool& moved);
  Status post(FlowState& flow, bool& moved);
  Result<Request*> post_step(FlowState& flow, const Step& step);
  void run_local(std::uint32_t index);
  void finish(std::uint32_t index);
  void became_ready(std::uint32_t index);
  std::size_t bytes_of(const Piece& piece) const;
  const std::byte* source(const Piece& piece) const;
  std::byte* target(const Piece& piece) const;

  const std::shared_ptr<const Plan> plan_;
  const Memory memory_;
  const Reducing how_;
  const Fingerprint fingerprint_;
  const std::uint64_t number_, order_;
  const int rank_;
  const std::size_t element_bytes_, partial_bytes_;
  std::vector<FlowState> flows_;
  std::vector<std::uint32_t> waits_for_;  // by step: dependencies not done
  std::deque<std::uint32_t> ready_;       // copies and reductions
  std::vector<Operand> operands_;         // run_local(): kept, so that it is not allocated each time
  std::size_t steps_left_;
  bool expedited_ = false;
};

}  // namespace railweave::collectives
