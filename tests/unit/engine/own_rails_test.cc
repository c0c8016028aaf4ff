// OwnRails on loopback, and in network namespaces whose interfaces come and go. Each test in a namespace runs on a
// thread with its own namespace. Its reactor and its commands share the namespace.
#include "engine/rails/own_rails.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "base/address_text.h"
#include "discovery/host_view.h"
#include "discovery/rails.h"
#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/talker.h"

namespace railweave::engine {
namespace {

std::vector<Rail> rails_of_loopback(int count) {
  std::vector<Rail> rails(std::size_t(count), loopback_rail());
  for (std::size_t i = 0; i < rails.size(); ++i) rails[i].name = "lo" + std::to_string(i);
  return rails;
}

// ----------------------------------------------------------------------------------------------------------- listeners

TEST(OwnRailsOfLoopback, open__each_rail_listens_and_its_port_is_announced) {
  const Config config;
  Reactor reactor;
  OwnRails rails(config, reactor, rails_of_loopback(2));
  EXPECT_TRUE(rails.announced().empty());
  ASSERT_TRUE(rails.open().ok());
  const std::vector<PeerRail> announced = rails.announced();
  ASSERT_EQ(announced.size(), 2u);
  EXPECT_EQ(announced, rails.with_ports());
  EXPECT_EQ(announced[1].name, "lo1");
  EXPECT_EQ(rails.at(1).name, "lo1");
  EXPECT_NE(announced[0].addresses.at(0).port, announced[1].addresses.at(0).port);
  const std::vector<RailStats> stats = rails.stats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].addresses, std::vector<std::string>{"127.0.0.1"});
  EXPECT_TRUE(stats[0].link_up);
}

TEST(OwnRailsOfLoopback, open__the_error_names_the_setting_when_ports_are_used_up) {
  Config config;
  Reactor reactor;
  const Porch taken;
  config.ports = {taken.port(), taken.port()};
  OwnRails rails(config, reactor, rails_of_loopback(1));
  const Status opened = rails.open();
  EXPECT_EQ(opened.code(), Code::exhausted);
  EXPECT_NE(opened.message().find("RAILWEAVE_PORTS"), std::string::npos) << opened.message();
}

TEST(OwnRailsOfLoopback, open__there_is_no_news_of_rails_that_have_not_changed) {
  const Config config;
  Reactor reactor;
  OwnRails rails(config, reactor, rails_of_loopback(2));
  ASSERT_TRUE(rails.open().ok());
  EXPECT_TRUE(rails.down().empty());
  for (const int rail : {0, 1}) {
    EXPECT_FALSE(rails.has_news(rail));
    const protocol::RailUpdates::Statement news = rails.news_of(rail);
    EXPECT_EQ(news.rail, rail);
    EXPECT_EQ(news.edition, 0u);
    const auto said = decode_rail(std::as_bytes(std::span(news.bytes)));
    ASSERT_TRUE(said.ok());
    EXPECT_EQ(said.value(), rails.with_ports()[std::size_t(rail)]);
  }
}

TEST(OwnRailsOfLoopback, serve__says_which_rail_was_dialled_and_close_lets_nobody_in) {
  const Config config;
  Reactor reactor;
  OwnRails rails(config, reactor, rails_of_loopback(2));
  ASSERT_TRUE(rails.open().ok());
  ASSERT_TRUE(reactor.start().ok());
  std::vector<int> dialled;
  std::vector<OwnedFd> kept;
  on_reactor(reactor, [&] {
    rails.serve(
        [&](wire::Accepted accepted, int rail) { dialled.push_back(rail), kept.push_back(std::move(accepted.fd)); },
        {[](int, bool) {}, [](int) {}, [](int) {}});
  });
  const auto port = [&](int rail) { return rails.with_ports()[std::size_t(rail)].addresses.at(0).port; };
  const Talker caller = Talker::dial(port(1));
  EXPECT_TRUE(eventually_on(reactor, [&] { return dialled == std::vector<int>{1}; }));
  const std::uint16_t former = port(1);
  on_reactor(reactor, [&] { rails.close(); });
  const OwnedFd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const wire::SocketAddress to = wire::socket_address(loopback_rail().addresses[0], former);
  EXPECT_NE(::connect(late.get(), to.get(), to.size), 0);
  EXPECT_EQ(errno, ECONNREFUSED);
  reactor.stop();
}

// -------------------------------------------------------------------------------------- interfaces that change

bool run_in_shell(const std::string& commands) {
  return ::system(("{ " + commands + "; } >/dev/null 2>&1").c_str()) == 0;
}

// Two rails, `eth0` (10.0.0.1/24) and `eth1` (10.0.1.1/24). Each is a veth whose other end is `port0` or `port1`.
constexpr char kTwoCables[] =
    "set -e; ip link set lo up; for i in 0 1; do ip link add eth$i type veth peer name port$i; "
    "ip link set eth$i up; ip link set port$i up; ip addr add 10.0.$i.1/24 dev eth$i; done";
constexpr char kThirdCable[] =
    "set -e; ip link add eth2 type veth peer name port2; ip addr add 10.0.2.1/24 dev eth2; ip link set eth2 up; ip "
    "link set port2 up";

// OwnRails without an engine. Records the events.
class Host {
 public:
  explicit Host(DeviceModel devices) {
    config_.interfaces = "eth";
    config_.family = AddressFamily::v4;
    config_.devices = devices;
    auto found = discovery::discover_rails(config_, *discovery::this_host());
    EXPECT_TRUE(found.ok());
    rails_ = std::make_unique<OwnRails>(config_, reactor_, found.ok() ? found->taken : std::vector<Rail>());
    EXPECT_TRUE(rails_->open().ok() && reactor_.start().ok());
    on_reactor(reactor_, [this] {
      rails_->serve(
          [](wire::Accepted, int) {},
          {.on_link = [this](int rail, bool up) { record("link " + std::to_string(rail) + (up ? "+" : "-")); },
           .on_rail = [this](int rail) { record("rail " + std::to_string(rail)); },
           .on_news = [this](int rail) { record("news " + std::to_string(rail)); }});
    });
  }
  ~Host() {
    on_reactor(reactor_, [this] { rails_->close(); });
    reactor_.stop();
  }

  // Waits until `event` was recorded. Then runs `at` on the reactor's thread and clears the record.
  void after(const std::string& event, const std::function<void(const OwnRails&)>& at) {
    ASSERT_TRUE(eventually_on(reactor_, [&] { return std::ranges::count(heard_, event) > 0; })) << event;
    on_reactor(reactor_, [&] {
      at(*rails_);
      heard_.clear();
    });
  }
  // Call on the reactor's thread.
  bool heard(const std::string& event) const { return std::ranges::count(heard_, event) > 0; }
  void poll(const std::function<void(const OwnRails&)>& at) {
    on_reactor(reactor_, [&] { at(*rails_); });
  }
  void close() {
    on_reactor(reactor_, [this] { rails_->close(); });
  }
  static std::string told(const OwnRails& rails, int rail) {
    std::string text;
    for (const PeerAddress& a : rails.with_ports()[std::size_t(rail)].addresses) text += to_string(a.address);
    return text;
  }
  static PeerRail news(const OwnRails& rails, int rail) {
    const std::string bytes = rails.news_of(rail).bytes;
    auto said = decode_rail(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(said.ok());
    return said.ok() ? std::move(*said) : PeerRail();
  }

 private:
  void record(std::string event) { heard_.push_back(std::move(event)); }

  Config config_;
  Reactor reactor_;
  std::unique_ptr<OwnRails> rails_;
  std::vector<std::string> heard_;  // belongs to the reactor's thread
};

class OwnRailsTest : public testing::Test {
 protected:
  // Runs `test` in a namespace with two rails. Skips the test without the privilege for namespaces, or without ip(8).
  void with_host(DeviceModel devices, const std::function<void(Host&)>& test) {
    bool made = false;
    std::thread([&] {
      made = ::unshare(CLONE_NEWNET) == 0 && run_in_shell("ip -V") && run_in_shell(kTwoCables);
      if (!made) return;
      Host host(devices);
      test(host);
    }).join();
    if (!made) GTEST_SKIP() << "no network namespaces here";
  }
};

TEST_F(OwnRailsTest, a_link_that_goes_down_and_comes_back_is_news_each_time) {
  with_host(DeviceModel::aggregate, [](Host& host) {
    ASSERT_TRUE(run_in_shell("ip link set port1 down"));
    host.after("link 1-", [](const OwnRails& rails) {
      EXPECT_EQ(rails.down(), std::vector<int>{1});
      EXPECT_FALSE(rails.has_news(0));
      EXPECT_TRUE(rails.has_news(1));
      EXPECT_EQ(rails.news_of(1).edition, 1u);
      EXPECT_TRUE(Host::news(rails, 1).link_down);
      EXPECT_TRUE(rails.with_ports()[1].link_down);
      EXPECT_TRUE(rails.stats()[0].link_up);
      EXPECT_FALSE(rails.stats()[1].link_up);
    });
    ASSERT_TRUE(run_in_shell("ip link set port1 up"));
    host.after("link 1+", [](const OwnRails& rails) {
      EXPECT_TRUE(rails.down().empty());
      EXPECT_EQ(rails.news_of(1).edition, 2u) << "of two statements the higher edition stands";
      EXPECT_FALSE(Host::news(rails, 1).link_down);
      EXPECT_TRUE(rails.stats()[1].link_up);
    });
  });
}

TEST_F(OwnRailsTest, another_address_is_announced_and_the_other_rail_stays) {
  with_host(DeviceModel::rails, [](Host& host) {
    ASSERT_TRUE(run_in_shell("ip addr del 10.0.1.1/24 dev eth1 && ip addr add 10.0.1.9/24 dev eth1"));
    host.after("news 1", [&](const OwnRails& rails) {
      EXPECT_TRUE(host.heard("rail 1")) << "lanes may be dialled from there";
      EXPECT_EQ(Host::told(rails, 1), "10.0.1.9");
      EXPECT_EQ(Host::news(rails, 1), rails.with_ports()[1]);
      EXPECT_EQ(rails.news_of(1).edition, 1u);
      EXPECT_EQ(to_string(rails.at(1).addresses.at(0)), "10.0.1.9");
      EXPECT_FALSE(rails.has_news(0));
      EXPECT_EQ(rails.now().size(), 2u);
    });
  });
}

TEST_F(OwnRailsTest, a_new_interface_is_a_new_rail_of_an_aggregate_device) {
  with_host(DeviceModel::aggregate, [](Host& host) {
    ASSERT_TRUE(run_in_shell(kThirdCable));
    host.after("news 2", [&](const OwnRails& rails) {
      ASSERT_EQ(rails.now().size(), 3u);
      EXPECT_TRUE(host.heard("rail 2"));
      EXPECT_EQ(rails.at(2).name, "eth2");
      EXPECT_TRUE(rails.has_news(2)) << "no handshake told of it";
      EXPECT_EQ(Host::told(rails, 2), "10.0.2.1");
      EXPECT_EQ(Host::news(rails, 2), rails.with_ports()[2]);
      EXPECT_EQ(rails.announced(), rails.with_ports()) << "what handles say";
    });
  });
}

TEST_F(OwnRailsTest, a_new_interface_is_no_rail_where_each_rail_is_a_device) {
  with_host(DeviceModel::rails, [](Host& host) {
    ASSERT_TRUE(run_in_shell(std::string(kThirdCable) +
                             "; ip addr del 10.0.1.1/24 dev eth1; ip addr add 10.0.1.9/24 dev eth1"));
    host.after("news 1", [](const OwnRails& rails) { EXPECT_EQ(rails.now().size(), 2u); });
  });
}

TEST_F(OwnRailsTest, an_interface_that_is_plugged_out_and_in_is_the_rail_it_was) {
  with_host(DeviceModel::rails, [](Host& host) {
    int former = 0;
    host.poll([&](const OwnRails& rails) { former = rails.at(1).ifindex; });
    ASSERT_TRUE(run_in_shell("ip link del eth1"));
    host.after("link 1-", [&](const OwnRails& rails) {
      EXPECT_EQ(rails.at(1).ifindex, 0) << "another interface may have the index from now on";
      EXPECT_EQ(rails.now().size(), 2u);
    });
    ASSERT_TRUE(
        run_in_shell("ip link add eth1 type veth peer name port1; ip addr add 10.0.1.1/24 dev eth1; ip link set eth1 "
                     "up; ip link set port1 up"));
    host.after("rail 1", [&](const OwnRails& rails) {
      EXPECT_NE(rails.at(1).ifindex, 0);
      EXPECT_NE(rails.at(1).ifindex, former);
      EXPECT_EQ(rails.at(1).name, "eth1");
      EXPECT_EQ(Host::told(rails, 1), "10.0.1.1");
      EXPECT_EQ(rails.now().size(), 2u);
    });
  });
}

// A peer would see two rails in an address that two rails announce.
TEST_F(OwnRailsTest, an_address_that_changes_rails_keeps_its_port) {
  with_host(DeviceModel::rails, [](Host& host) {
    std::uint16_t port = 0;
    host.poll([&](const OwnRails& rails) { port = rails.with_ports()[1].addresses.at(0).port; });
    ASSERT_TRUE(run_in_shell("ip addr flush dev eth0; ip addr flush dev eth1; ip addr add 10.0.1.1/24 dev eth0"));
    host.after("news 1", [&](const OwnRails& rails) {
      EXPECT_EQ(Host::told(rails, 0), "10.0.1.1");
      EXPECT_EQ(rails.with_ports()[0].addresses.at(0).port, port);
      EXPECT_EQ(Host::told(rails, 1), "") << "told that it has none";
      EXPECT_TRUE(Host::news(rails, 1).addresses.empty());
    });
  });
}

TEST_F(OwnRailsTest, close__changes_are_no_longer_reported) {
  with_host(DeviceModel::aggregate, [](Host& host) {
    host.close();
    ASSERT_TRUE(run_in_shell("ip link set port1 down"));
    Host other(DeviceModel::aggregate);  // gets the kernel's news no earlier than `host` would
    ASSERT_TRUE(run_in_shell("ip link set port0 down"));
    other.after("link 0-", [&](const OwnRails&) {});
    host.poll([&](const OwnRails&) { EXPECT_FALSE(host.heard("link 1-") || host.heard("link 0-")); });
  });
}

}  // namespace
}  // namespace railweave::engine
