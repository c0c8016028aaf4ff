#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "base/error.h"

namespace railweave::wire::verbs {
namespace {

// A request's number is the index of its slot; this bit marks a send.
constexpr std::uint64_t kSendBit = std::uint64_t{1} << 32;

// The device's queue has no room until poll() has taken completions.
bool is_full(int err) { return err == ENOMEM || err == EAGAIN; }

LaneEnd end_of_connect(const Status& why) { return why.code() == Code::remote ? LaneEnd::unanswered : LaneEnd::system; }

}  // namespace

VerbsChannel::VerbsChannel(OwnedQueuePair pair, std::uint8_t traffic_class)
    : pair_(std::move(pair)), api_(*pair_.get_deleter().device().host().api), traffic_class_(traffic_class) {
  stash_.reserve(kReceiveSlots);
}

Status VerbsChannel::connect(std::span<const std::byte> peer) {
  RW_ASSIGN_OR_RETURN(const ChannelAddress decoded, decode_address(peer));
  pair_.get_deleter().device().connect(*pair_, decoded, traffic_class_);
  return {};
}

Result<bool> VerbsChannel::is_connected() {
  if (failure_) return failure_->why;
  if (!pair_->has_tried_to_connect()) return false;
  const Status& connected = pair_->connected();
  return connected.ok() ? Result<bool>(true) : fail({connected, end_of_connect(connected)});
}

std::span<std::byte> VerbsChannel::next_slot() {
  return posted_ - left_ < kSendSlots ? pair_->send_slot(std::uint32_t(posted_ % kSendSlots)) : std::span<std::byte>();
}

Result<bool> VerbsChannel::send(std::size_t bytes) {
  if (failure_) return failure_->why;
  if (noted_) return false;  // poll() reports the cause
  const std::span<std::byte> memory = next_slot();
  assert(!memory.empty() && bytes <= memory.size());
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory.data()), std::uint32_t(bytes), pair_->key()};
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = kSendBit | posted_ % kSendSlots;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  const int err = api_.post_send(pair_->pair(), &request, &bad);
  if (err == 0) ++posted_;
  if (err != 0 && !is_full(err)) note_call("ibv_post_send", err);
  return err == 0;
}

Result<bool> VerbsChannel::give_back(std::uint32_t index) {
  if (failure_) return failure_->why;
  if (noted_) return false;
  const int err = pair_->post_receive(index);
  if (err != 0 && !is_full(err)) note_call("ibv_post_recv", err);
  return err == 0;
}

Result<std::size_t> VerbsChannel::poll(std::span<message::Arrival> arrivals) {
  if (failure_) return failure_->why;
  fetch();
  const std::size_t n = std::min(arrivals.size(), stash_.size() - reported_);
  std::copy_n(stash_.begin() + std::ptrdiff_t(reported_), n, arrivals.begin());
  reported_ += n;
  if (reported_ == stash_.size()) {
    stash_.clear();
    reported_ = 0;
  }
  // An error of this call would lose its arrivals, so the next call has it.
  if (n == 0 && noted_) return fail(*noted_);
  return n;
}

// Takes all completions there are. After a failure, too: the cause may come behind a completion that was flushed.
void VerbsChannel::fetch() {
  std::array<ibv_wc, kBatch> batch;
  for (int n = int(kBatch); n == int(kBatch);) {
    n = api_.poll_cq(pair_->completions(), int(kBatch), batch.data());
    if (n < 0) return note_call("ibv_poll_cq", -n);
    for (const ibv_wc& completion : std::span(batch).first(std::size_t(n))) take(completion);
  }
  const int event = pair_->failed_by();
  if (event != 0 && (!noted_ || noted_consequence_))
    note(failure_of(api_, ibv_event_type(event - 1), pair_->pair()->qp_num, device()), false);
}

void VerbsChannel::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS)
    return note(failure_of(api_, completion, device()), is_consequence(completion.status));
  if ((completion.wr_id & kSendBit) != 0) {
    ++left_;
  } else {
    stash_.push_back({std::uint32_t(completion.wr_id), completion.byte_len});
  }
}

bool VerbsChannel::prepare_to_wait() {
  const auto has_news = [this, before = left_] { return !stash_.empty() || noted_ || failure_ || left_ != before; };
  if (has_news()) return false;
  take_notices();
  if (const int err = api_.req_notify_cq(pair_->completions(), 0); err != 0) note_call("ibv_req_notify_cq", err);
  fetch();  // a completion that came before the request gives no notice
  return !has_news();
}

// The descriptor stays readable until its notices are taken.
void VerbsChannel::take_notices() {
  constexpr std::uint32_t kAcknowledgedTogether = 16;  // each acknowledgement takes a lock
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (api_.get_cq_event(pair_->notices(), &queue, &context) == 0) ++pair_->unacknowledged_notices;
  if (pair_->unacknowledged_notices >= kAcknowledgedTogether)
    api_.ack_cq_events(pair_->completions(), std::exchange(pair_->unacknowledged_notices, 0));
}

void VerbsChannel::note(ChannelFailure failure, bool is_consequence) {
  if (noted_ && (is_consequence || !noted_consequence_)) return;
  noted_ = std::move(failure);
  noted_consequence_ = is_consequence;
}

void VerbsChannel::note_call(const char* call, int err) {
  const std::string what = fmt::format("device {}: {} of queue pair {}", device(), call, pair_->pair()->qp_num);
  note({system_error(Scope::lane, what, err), LaneEnd::system}, true);
}

Status VerbsChannel::fail(const ChannelFailure& failure) {
  if (!failure_) failure_ = failure;
  return failure_->why;
}

}  // namespace railweave::wire::verbs
#endif
