#include "wire/message/block_rings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace railweave::wire::message {

BlockRings::BlockRings(std::unique_ptr<Channel> channel, const ChannelShape& peer)
    : channel_(std::move(channel)),
      block_bytes_(std::min(channel_->shape().slot_bytes, peer.slot_bytes)),
      credit_(peer.receive_slots, channel_->shape().receive_slots, channel_->may_lose_blocks()),
      arrived_(channel_->shape().receive_slots),
      sent_(peer.receive_slots) {
  assert(block_bytes_ > kPrefixBytes);
  popped_.reserve(channel_->shape().receive_slots);
}

Status BlockRings::poll() {
  std::array<Arrival, 32> arrivals;
  for (std::size_t n = arrivals.size(); n == arrivals.size();) {
    RW_ASSIGN_OR_RETURN(n, channel_->poll(arrivals));
    for (const Arrival& arrival : std::span(arrivals).first(n)) {
      const Status taken = take(arrival);
      if (!taken.ok() && !end_) end_ = LaneEnd::closed;
      RW_TRY(taken);
    }
  }
  if (credit_.returned_by_peer() > sent_.returned_blocks()) sent_.returned(now(), credit_.returned_by_peer());
  RW_TRY(give_back_popped());
  return flush();
}

Status BlockRings::take(const Arrival& arrival) {
  RW_ASSIGN_OR_RETURN(const Prefix prefix, decode(channel_->slot(arrival.slot).first(arrival.bytes)));
  if (channel_->may_lose_blocks() && prefix.number != arrivals_) {
    end_ = LaneEnd::reset;
    return Status(Code::remote, Scope::lane,
                  fmt::format("block {} was lost and {} arrived: the connection below broke and came back", arrivals_,
                              prefix.number));
  }
  ++arrivals_;
  RW_TRY(arrived_.add({arrival.slot, prefix}));
  return credit_.peer_says(prefix.returned);
}

std::optional<BlockRings::Received> BlockRings::next() const {
  const ArrivedBlocks::Block* const block = arrived_.next();
  if (!block) return std::nullopt;
  return Received{block->prefix, channel_->slot(block->slot).subspan(kPrefixBytes, block->prefix.bytes)};
}

void BlockRings::pop() {
  const ArrivedBlocks::Block& block = *arrived_.next();
  popped_.push_back({block.slot, block.prefix.bytes > 0 || block.prefix.last, block.prefix.asks});
  arrived_.pop();
}

Status BlockRings::give_back_popped() {
  std::size_t n = 0;
  for (; n < popped_.size(); ++n) {
    RW_ASSIGN_OR_RETURN(const bool given, channel_->give_back(popped_[n].slot));
    if (!given) break;
    credit_.gave_back(popped_[n].has_stream, popped_[n].asks);
  }
  popped_.erase(popped_.begin(), popped_.begin() + std::ptrdiff_t(n));
  return {};
}

std::span<std::byte> BlockRings::room() {
  if (has_unsent() || !credit_.may_send_stream()) return {};
  const std::span<std::byte> slot = channel_->next_slot();
  return slot.empty() ? slot : slot.first(block_bytes_).subspan(kPrefixBytes);
}

Status BlockRings::send(const Content& content) {
  assert(!room().empty() && content.bytes <= room().size());
  Prefix prefix;
  prefix.bytes = std::uint32_t(content.bytes);
  prefix.last = content.last;
  return send_block(prefix, kPrefixBytes + content.bytes, content);
}

Status BlockRings::send_probe() {
  const std::span<std::byte> padding = room();
  assert(!padding.empty());
  const std::size_t bytes = std::min(kProbeBytes, block_bytes_) - kPrefixBytes;
  std::memset(padding.data(), 0, bytes);
  Prefix prefix;
  prefix.probe = true;
  return send_block(prefix, kPrefixBytes + bytes, {});
}

Status BlockRings::state_credit(bool idle) {
  RW_TRY(give_back_popped());
  if (has_unsent() || !credit_.owes_statement(idle) || !credit_.may_send_credit()) return {};
  if (channel_->next_slot().empty()) return {};
  return send_empty({});
}

Status BlockRings::ask_if_late() {
  if (!channel_->may_lose_blocks() || sent_.acknowledged_bytes() == stream_bytes_) return {};
  if (sent_.unreturned_since() > now() - kAskAfter) return {};
  if (asked_ > credit_.returned_by_peer() || has_unsent() || !credit_.may_ask()) return {};
  if (channel_->next_slot().empty()) return {};
  asked_ = credit_.next_number() + 1;
  return send_empty({.asks = true});
}

// A block without stream.
Status BlockRings::send_empty(const Prefix& prefix) {
  Content nothing;
  nothing.stream_bytes = stream_bytes_;
  return send_block(prefix, kPrefixBytes, nothing);
}

Status BlockRings::send_block(Prefix prefix, std::size_t bytes, const Content& content) {
  prefix.number = std::uint32_t(credit_.next_number());
  prefix.returned = credit_.next_returned();
  encode(prefix, channel_->next_slot().first<kPrefixBytes>());
  unsent_is_sure_ = prefix.probe || prefix.last || prefix.asks || credit_.owes_answer();
  credit_.sent();
  stream_bytes_ = content.stream_bytes;
  sent_.sent(now(), content.frames, content.stream_bytes);
  unsent_bytes_ = bytes;
  return flush();
}

Status BlockRings::flush() {
  if (!has_unsent()) return {};
  RW_ASSIGN_OR_RETURN(const bool sent,
                      unsent_is_sure_ ? channel_->send_surely(unsent_bytes_) : channel_->send(unsent_bytes_));
  if (sent) unsent_bytes_ = 0;
  return {};
}

}  // namespace railweave::wire::message
