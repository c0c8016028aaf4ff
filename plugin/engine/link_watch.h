// Says when a rail's link goes down and when it is up again, as the kernel tells it. Changes shorter than kSteady are not told.
//
// On the reactor's thread only. Where the kernel tells nothing, links count as up: then silence shows what is dead.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "discovery/link_news.h"
#include "engine/reactor.h"
#include "railweave/device.h"

namespace railweave::engine {

class LinkWatch final : public Pollable {
 public:
  static constexpr Nanos kSteady = std::chrono::milliseconds(20);
  using Told = std::function<void(int rail, bool up)>;

  // `rails` outlive it.
  LinkWatch(Reactor& reactor, const std::vector<Rail>& rails);
  ~LinkWatch() { close(); }

  // A failure is logged and otherwise harmless.
  void open(Told told);
  void close();

  // For tests, and for what open() hears.
  void hear(const std::vector<discovery::LinkState>& news);

 private:
  void on_ready(std::uint32_t) override;
  void tell(std::size_t rail);

  struct Link {
    bool up = true;                // as heard
    bool told = true;
    Reactor::TimerId timer = 0;    // set while the two differ
  };

  Reactor& reactor_;
  const std::vector<Rail>& rails_;
  Told told_;
  std::optional<discovery::LinkNews> news_;
  std::vector<Link> links_;        // by rail
};

}  // namespace railweave::engine
