#include "engine/link_watch.h"

#include <sys/epoll.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "engine/fork_guard.h"

namespace railweave::engine {

LinkWatch::LinkWatch(Reactor& reactor, const std::vector<Rail>& rails) : reactor_(reactor), rails_(rails) {}

void LinkWatch::open(Told told, Gone gone, Changed changed) {
  told_ = std::move(told);
  gone_ = std::move(gone);
  changed_ = std::move(changed);
  Result<discovery::LinkNews> news = discovery::LinkNews::open();
  if (!news.ok()) {
    RW_INFO(net, "no news of links: {}", news.status().message());
    return;
  }
  news_ = std::move(*news);
  if (const Status s = reactor_.add(news_->descriptor(), *this, EPOLLIN); !s.ok()) {
    RW_INFO(net, "no news of links: {}", s.message());
    return news_.reset();
  }
  guard_descriptor(news_->descriptor());
}

void LinkWatch::close() {
  for (Link& link : links_)
    if (link.timer) reactor_.cancel(std::exchange(link.timer, 0));
  if (change_timer_) reactor_.cancel(std::exchange(change_timer_, 0));
  if (!news_) return;
  reactor_.remove(news_->descriptor(), *this);
  release_descriptor(news_->descriptor());
  news_.reset();
}

void LinkWatch::on_ready(std::uint32_t) {
  const ScopeExit armed([this] {  // also where there was no memory
    if (news_) reactor_.arm(news_->descriptor(), *this, EPOLLIN);
  });
  Result<discovery::News> news = news_->read();
  if (!news.ok()) {
    RW_INFO(net, "no more news of links: {}", news.status().message());
    close();
    std::vector<discovery::LinkState> all_up;
    for (const Rail& rail : rails_) all_up.push_back({rail.ifindex, true});
    return hear(all_up);
  }
  hear(news->links);
  if (news->addresses || !news->links.empty()) look_for_changes();
}

void LinkWatch::look_for_changes() {
  if (change_timer_) return;
  change_timer_ = reactor_.at(now() + kSettle, [this] {
    change_timer_ = 0;
    changed_();
  });
}

void LinkWatch::hear(const std::vector<discovery::LinkState>& news) {
  links_.resize(rails_.size());
  for (const discovery::LinkState& state : news)
    for (std::size_t rail = 0; rail < links_.size(); ++rail) {
      if (rails_[rail].ifindex != state.ifindex) continue;
      links_[rail].up = state.running;
      if (state.gone) gone_(int(rail));
    }
  for (std::size_t rail = 0; rail < links_.size(); ++rail) {
    Link& link = links_[rail];
    if (link.up == link.told && link.timer) reactor_.cancel(std::exchange(link.timer, 0));
    if (link.up != link.told && !link.timer) link.timer = reactor_.at(now() + kSteady, [this, rail] { tell(rail); });
  }
}

void LinkWatch::tell(std::size_t rail) {
  links_[rail].timer = 0;
  const bool up = links_[rail].told = links_[rail].up;
  const std::uint64_t bit = std::uint64_t{1} << rail;
  up ? down_.fetch_and(~bit, std::memory_order_relaxed) : down_.fetch_or(bit, std::memory_order_relaxed);
  RW_INFO(net, "rail {}: link {}", rails_[rail].name, up ? "up again" : "down");
  told_(int(rail), up);
}

}  // namespace railweave::engine
