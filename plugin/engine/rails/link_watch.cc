#include "engine/rails/link_watch.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scope_exit.h"
#include "engine/runtime/fork_guard.h"

namespace railweave::engine {

LinkWatch::LinkWatch(Reactor& reactor, const std::vector<Rail>& rails) : reactor_(reactor), rails_(rails) {}

void LinkWatch::open(Report report_link, Gone gone, Changed changed) {
  report_link_ = std::move(report_link);
  gone_ = std::move(gone);
  changed_ = std::move(changed);
  if (const Status s = listen(); !s.ok()) {
    RW_INFO(net, "cannot watch links: {}", s.message());
    go_on_later();
  }
}

Status LinkWatch::listen() {
  RW_ASSIGN_OR_RETURN(news_, discovery::LinkNews::open());
  if (Status s = reactor_.add(news_->descriptor(), *this, EPOLLIN); !s.ok()) {
    news_.reset();
    return s;
  }
  guard_descriptor(news_->descriptor());
  return {};
}

// Tries to listen again, and then looks for rails that changed meanwhile. The state of a link comes with that link's
// next notification.
void LinkWatch::go_on_later() {
  listen_timer_ = reactor_.at(now() + kAgainMost, [this] {
    listen_timer_ = 0;
    if (!listen().ok()) return go_on_later();
    RW_INFO(net, "watches links again");
    schedule_changed(kSettle);
  });
}

void LinkWatch::stop_listening() {
  if (!news_) return;
  reactor_.remove(news_->descriptor(), *this);
  release_descriptor(news_->descriptor());
  news_.reset();
}

void LinkWatch::close() {
  for (Link& link : links_)
    if (link.timer) reactor_.cancel(std::exchange(link.timer, 0));
  if (change_timer_) reactor_.cancel(std::exchange(change_timer_, 0));
  if (listen_timer_) reactor_.cancel(std::exchange(listen_timer_, 0));
  stop_listening();
}

void LinkWatch::on_ready(std::uint32_t) {
  const ScopeExit armed([this] {  // also after std::bad_alloc
    if (news_) reactor_.arm(news_->descriptor(), *this, EPOLLIN);
  });
  Result<discovery::News> news = news_->read();
  if (!news.ok()) {
    RW_INFO(net, "no longer watches links: {}; retries in {} s", news.status().message(),
            std::chrono::duration_cast<std::chrono::seconds>(kAgainMost).count());
    stop_listening();
    go_on_later();
    std::vector<discovery::LinkState> all_up;
    for (const Rail& rail : rails_) all_up.push_back({rail.ifindex, true});
    return apply(all_up);
  }
  apply(news->links);
  if (news->addresses || !news->links.empty()) schedule_changed(kSettle);
}

void LinkWatch::schedule_changed(Nanos delay) {
  const TimePoint when = now() + delay;
  if (change_timer_ && change_at_ <= when) return;
  if (change_timer_) reactor_.cancel(std::exchange(change_timer_, 0));  // after a shortage: up to kAgainMost away
  change_at_ = when;
  change_timer_ = reactor_.at(when, [this] {
    change_timer_ = 0;
    if (changed_()) {
      again_ = kAgain;
      return;
    }
    schedule_changed(again_);
    again_ = std::min(2 * again_, kAgainMost);
  });
}

void LinkWatch::apply(const std::vector<discovery::LinkState>& news) {
  links_.resize(rails_.size());
  for (const discovery::LinkState& state : news)
    for (std::size_t rail = 0; rail < links_.size(); ++rail) {
      if (rails_[rail].ifindex != state.ifindex) continue;
      links_[rail].up = state.running;
      if (state.gone) gone_(int(rail));
    }
  for (std::size_t rail = 0; rail < links_.size(); ++rail) {
    Link& link = links_[rail];
    if (link.up == link.reported && link.timer) reactor_.cancel(std::exchange(link.timer, 0));
    if (link.up != link.reported && !link.timer)
      link.timer = reactor_.at(now() + kSteady, [this, rail] { report(rail); });
  }
}

void LinkWatch::report(std::size_t rail) {
  links_[rail].timer = 0;
  const bool up = links_[rail].reported = links_[rail].up;
  const std::uint64_t bit = std::uint64_t{1} << rail;
  up ? down_.fetch_and(~bit, std::memory_order_relaxed) : down_.fetch_or(bit, std::memory_order_relaxed);
  RW_INFO(net, "rail {}: link {}", rails_[rail].name, up ? "up again" : "down");
  report_link_(int(rail), up);
}

}  // namespace railweave::engine
