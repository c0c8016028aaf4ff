// Runs one rank's part of one operation. Posts the due sends and receives on the streams of a channel, and runs copies
// and reductions, until all steps are done.
//
// Threads: under the runner's lock. Memory: input and output belong to the caller, and are not accessed once done(), or
// once the execution and its PeerStreams are destroyed. Errors: the first error is final and names the peer's rank.
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
    std::byte* scratch = nullptr;  // Schedule::scratch_bytes long
  };

  struct Sending {
    int channel = 0;
    Priority priority = Priority::normal;  // of the streams
    std::uint64_t number = 0;              // of the operation; grows along a channel
    bool first = false;  // true: messages have order 0 (see railweave::SendStream); false: order `number`
  };

  // Joins the queue of every stream that the operation uses. Once `peers` is destroyed only the destructor may run. An
  // arriving message with another fingerprint is an error that names both operations.
  Execution(std::shared_ptr<const Plan> plan, const Memory& memory, const Reducing& how, Fingerprint fingerprint,
            PeerStreams& peers, const Sending& sending);

  // Collects finished requests, posts the next ones, and runs one copy or reduction. `live` false: posts nothing.
  // True: something moved. Errors: the peer is lost; truncated (the peer does another operation).
  Result<bool> advance(bool live = true);
  bool done() const { return steps_left_ == 0; }
  // Returns the bytes that are posted and unfinished on a flow: the fewest of all unfinished flows. Until so many bytes
  // have moved, no flow needs advance(). 0: advance() may be needed at any moment.
  std::size_t bytes_on_their_way() const;
  // Marks the operation as awaited by a caller. The operation's messages, also later ones, go first, and so do messages
  // ahead of them on the same streams. Idempotent.
  void expedite();
  // The ranks whose message is due and has not arrived. If there are none: the ranks that have not taken our message.
  // Ascending.
  std::vector<int> awaited() const;

 private:
  static constexpr std::size_t kTestedMost = 64;  // flows; with more bytes_on_their_way() is 0, and tests none
  static constexpr std::size_t kPostedMax = 24;   // requests of one flow: keeps rails busy, and fits into one stream

  struct Posted {
    Request* request;
    std::uint32_t step;
  };
  struct FlowState {
    const Plan::Flow* flow;
    Outgoing* out = nullptr;          // of a flow that sends; else null
    Incoming* in = nullptr;           // of a flow that receives; else null
    const FlowState* twin = nullptr;  // of a flow that sends: the flow that receives from the same peer; null: none
    std::size_t next = 0;             // index in Flow::steps of the next step to post
    std::deque<Posted> posted;        // unfinished requests, oldest first
    Stream* stream() const {
      return out ? static_cast<Stream*>(out->stream.get()) : static_cast<Stream*>(in->stream.get());
    }
    StreamQueue& queue() const { return out ? out->queue : in->queue; }
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
  std::vector<std::uint32_t> waits_for_;  // by step: dependencies not done yet
  std::deque<std::uint32_t> ready_;       // copies and reductions that can run
  std::vector<Operand> operands_;         // of run_local(); kept to save allocations
  std::size_t steps_left_;
  bool expedited_ = false;
};

}  // namespace railweave::collectives
