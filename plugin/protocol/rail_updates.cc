#include "protocol/rail_updates.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "protocol/frame_fields.h"

namespace railweave::protocol {

void RailUpdates::announce(Statement news) {
  assert(news.rail >= 0 && news.rail < kRailsMax && news.bytes.size() <= kControlPayloadBytesMax);
  for (const auto& known : ours_)
    if (known->news.rail == news.rail && known->news.edition >= news.edition) return;
  auto queued = std::make_unique<Ours>();
  queued->news = std::move(news);
  ours_.push_back(std::move(queued));
  for (const auto& known : ours_)
    if (known != ours_.back() && known->news.rail == ours_.back()->news.rail) known->pending = false;
  forget_outdated();
}

bool RailUpdates::pending() const {
  return std::ranges::any_of(ours_, [](const auto& news) { return news->pending; });
}

std::span<const std::byte> RailUpdates::next(FrameHeader& header) {
  assert(pending());
  Ours& ours = **std::ranges::find_if(ours_, [](const auto& news) { return news->pending; });
  ours.pending = false;
  ++ours.named;
  header =
      RailsFrame{.rail = ours.news.rail, .edition = ours.news.edition, .length = std::uint32_t(ours.news.bytes.size())};
  return std::as_bytes(std::span(ours.news.bytes));
}

RailUpdates::Ours& RailUpdates::find(const FrameHeader& frame) {
  const auto said = RailsFrame::of(frame);
  const auto ours = std::ranges::find_if(
      ours_, [&](const auto& o) { return o->news.rail == said.rail && o->news.edition == said.edition; });
  assert(ours != ours_.end() && (*ours)->named > 0 && "what a ledger names is kept");
  return **ours;
}

void RailUpdates::repeat(const FrameHeader& lost) {
  Ours& ours = find(lost);
  ours.pending = std::ranges::none_of(ours_, [&](const auto& other) {
    return other->news.rail == ours.news.rail && other->news.edition > ours.news.edition;
  });
}

void RailUpdates::let_go(const FrameHeader& frame) {
  --find(frame).named;
  forget_outdated();
}

void RailUpdates::forget_outdated() {
  std::erase_if(ours_, [this](const auto& ours) {
    return ours->named == 0 && std::ranges::any_of(ours_, [&](const auto& other) {
             return other && other->news.rail == ours->news.rail && other->news.edition > ours->news.edition;
           });
  });
}

bool RailUpdates::apply(const FrameHeader& header, std::string_view payload) {
  const auto said = RailsFrame::of(header);
  auto known = std::ranges::find(received_, said.rail, [](const Received& received) { return received.news.rail; });
  if (known != received_.end() && known->news.edition >= said.edition) return false;
  if (known == received_.end()) known = received_.insert(known, Received{});
  known->news = {said.rail, said.edition, std::string(payload)};
  known->taken = false;
  return true;
}

std::vector<RailUpdates::Statement> RailUpdates::take_received() {
  std::vector<Statement> news;
  for (Received& received : received_)
    if (!std::exchange(received.taken, true)) news.push_back(received.news);
  return news;
}

}  // namespace railweave::protocol
