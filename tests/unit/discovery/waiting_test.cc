// Links and addresses that become usable late, and usable_rails() beside known rails.
#include "base/address_text.h"
#include "expect_rails.h"

namespace railweave::discovery {
namespace {

class UsableRails : public testing::Test {
 protected:
  UsableRails() {
    host_.loopback();
    for (const char* name : {"eth0", "eth1"}) host_.link(name, "veth").running = false;
    host_.address("eth0", "10.0.0.1/24");
    host_.address("eth1", "10.0.1.1/24");
  }
  Nanos waited() const { return host_.now() - TimePoint{}; }
  void comes_up(const std::string& name, Nanos after) {
    host_.on_sleep = [this, name, after, before = host_.on_sleep] {
      if (before) before();
      if (waited() >= after) host_.find(name).running = true;
    };
  }
  FakeHost host_;
};

using std::chrono::milliseconds;

TEST_F(UsableRails, both_links_are_waited_for) {
  comes_up("eth0", milliseconds(100));
  comes_up("eth1", milliseconds(140));
  EXPECT_EQ("eth0 eth1", rails_of(host_));
  EXPECT_LE(waited(), milliseconds(160));
}

TEST_F(UsableRails, a_link_that_stays_dark_costs_little_beside_one_that_runs) {
  host_.find("eth0").running = true;
  EXPECT_EQ("eth0", rails_of(host_));
  EXPECT_EQ(kWaitForMore, waited());
  expect_contains(reason(host_, "eth1"), "no carrier");
}

TEST_F(UsableRails, a_dark_link_without_address_is_not_waited_for) {
  host_.find("eth0").running = host_.find("eth1").running = true;
  host_.link("eth2", "veth").running = false;
  EXPECT_EQ("eth0 eth1", rails_of(host_));
  EXPECT_EQ(Nanos(0), waited());
}

TEST_F(UsableRails, the_wait_ends_with_the_reasons_and_never_with_loopback) {
  const std::string error = rails_of(host_);
  EXPECT_EQ("error: no usable network interface: lo: loopback: only when named; eth0: no carrier; eth1: no carrier",
            error);
  EXPECT_EQ(kWaitForLink, waited());
}

TEST_F(UsableRails, a_link_that_is_down_is_not_waited_for) {
  host_.find("eth0").up = host_.find("eth1").up = false;
  expect_contains(rails_of(host_), "eth0: down");
  EXPECT_EQ(Nanos(0), waited());
}

TEST_F(UsableRails, named_links_are_waited_for_too) {
  comes_up("eth1", milliseconds(100));
  EXPECT_EQ("eth1", rails_named(host_, {"eth1"}));
  EXPECT_EQ(milliseconds(100), waited());
}

// Returns a rail that the engine knows already.
Rail rail_at(const std::string& name, const std::string& address) {
  Rail rail;
  rail.name = name;
  rail.addresses = {address_of(address)};
  return rail;
}

Result<std::vector<Rail>> rails_beside(const Config& config, const HostView& host, const std::vector<Rail>& known) {
  auto usable = usable_rails(config, host, known);
  if (!usable.ok()) return usable.status();
  std::vector<Rail> rails;
  for (const UsableRail& one : *usable) rails.push_back(one.rail);
  return rails;
}

// The kernel reports no speed of a card without a link.
TEST_F(UsableRails, a_second_choice_is_no_rail_while_the_first_has_no_link) {
  FakeHost host;
  host.card("eth0", "pci0000:5d/0000:5d:00.0", "10.0.0.1/24", 100'000);
  host.card("mgmt0", "pci0000:00/0000:00:1f.0", "192.168.0.1/24", 1'000);
  const Config config;
  const auto usable = [&](const std::vector<Rail>& known) {
    std::string names;
    Result<std::vector<Rail>> rails = rails_beside(config, host, known);
    EXPECT_TRUE(rails.ok());
    for (const Rail& rail : *rails) names += " " + rail.name;
    return names;
  };
  const std::vector<Rail> known = *rails_beside(config, host, {});
  ASSERT_EQ(known.size(), 1u);
  host.find("eth0").running = false;
  host.put("class/net/eth0/speed", "-1\n");
  EXPECT_EQ(usable({}), " mgmt0");
  EXPECT_EQ(usable(known), "");
  host.card("eth1", "pci0000:5e/0000:5e:00.0", "10.0.1.1/24", 100'000);
  EXPECT_EQ(usable(known), " eth1") << "as good, and new";
  host.find("eth0").running = true;
  EXPECT_EQ(usable(known), " eth0 eth1");
}

// The known rail has its link back, but not its routable address. With link-local addresses alone it would be a second
// choice itself.
TEST_F(UsableRails, a_second_choice_is_no_rail_while_the_first_has_no_address) {
  FakeHost host;
  host.card("eth0", "pci0000:5d/0000:5d:00.0", "fe80::1/64", 100'000);
  host.card("mgmt0", "pci0000:00/0000:00:1f.0", "192.168.0.1/24", 1'000);
  Rail known = rail_at("eth0", "2001:db8::1/64");
  const auto first = [&](const std::vector<Rail>& beside) {
    Result<std::vector<Rail>> rails = rails_beside(Config(), host, beside);
    return !rails.ok()      ? "failed"
           : rails->empty() ? "none"
                            : rails->front().name + " " + to_string(without_scope(rails->front().addresses.front()));
  };
  EXPECT_EQ(first({}), "mgmt0 192.168.0.1");
  EXPECT_EQ(first({known}), "none");
  host.address("eth0", "2001:db8::1/64").tentative = true;
  EXPECT_EQ(first({known}), "none");
  host.address("eth0", "2001:db8::2/64");
  EXPECT_EQ(first({known}), "none") << "the other is not there yet";
  FakeHost settled;
  settled.card("eth0", "pci0000:5d/0000:5d:00.0", "2001:db8::2/64", 100'000);
  Result<std::vector<Rail>> rails = rails_beside(Config(), settled, {known});
  ASSERT_TRUE(rails.ok() && rails->size() == 1);
  EXPECT_EQ(to_string(without_scope(rails->front().addresses.front())), "2001:db8::2");
}

// For a rail that never had routable addresses, link-local addresses are good enough.
TEST_F(UsableRails, a_known_link_local_rail_may_have_other_link_local_addresses) {
  FakeHost host;
  host.card("eth0", "pci0000:5d/0000:5d:00.0", "fe80::2/64", 100'000);
  Rail known = rail_at("eth0", "fe80::1/64");
  Result<std::vector<Rail>> rails = rails_beside(Config(), host, {known});
  ASSERT_TRUE(rails.ok() && rails->size() == 1);
  EXPECT_EQ(to_string(without_scope(rails->front().addresses.front())), "fe80::2");
}

// If all rails have link-local addresses only, an unplugged rail is no better than a new one.
TEST_F(UsableRails, link_local_rails_join_beside_one_that_is_gone) {
  FakeHost host;
  host.link("eth1", "veth");
  host.address("eth1", "fe80::2/64");
  Rail gone = rail_at("eth0", "fe80::1/64");
  Config config;
  auto found = rails_beside(config, host, {gone});
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().name, "eth1");
}

// As in a container, the physical function is not visible. Its virtual functions are rails beside each other, and a
// function that is gone does not count as the whole port.
TEST_F(UsableRails, a_new_virtual_function_joins_beside_one_that_is_gone) {
  const std::string pf = "pci0000:5d/0000:5d:00.0/0000:5e:00.0";
  FakeHost before, now;
  before.virtual_function("net1", "pci0000:5d/0000:5d:00.0/0000:5e:00.2", pf, "10.1.0.2/24", 100'000);
  now.virtual_function("net2", "pci0000:5d/0000:5d:00.0/0000:5e:00.3", pf, "10.1.0.3/24", 100'000);
  auto known = rails_beside(Config(), before, {}).value();
  ASSERT_EQ(known.size(), 1u);
  known.front().ifindex = 9;  // indexes of each fake host begin with 1
  auto rails = rails_beside(Config(), now, known).value();
  ASSERT_EQ(rails.size(), 1u);
  EXPECT_EQ(rails.front().name, "net2");
  known.front().whole_port = true, known.front().pci_path = known.front().physical_function;
  EXPECT_TRUE(rails_beside(Config(), now, known)->empty()) << "a part of what comes back";
}

// udev may name an interface late, or an administrator may swap two names. The rail remains the one that was
// configured.
TEST_F(UsableRails, a_known_rail_of_another_name_is_itself) {
  FakeHost host;
  const int first = host.link("eth1", "veth").ifindex, second = host.link("eth0", "veth").ifindex,
            third = host.link("eth2", "veth").ifindex;
  host.address("eth1", "10.0.0.1/24");
  host.address("eth0", "10.0.1.1/24");
  host.address("eth2", "10.0.2.1/24");
  std::vector<Rail> known{rail_at("eth0", "10.0.0.1/24"), rail_at("eth1", "10.0.1.1/24"),
                          rail_at("old", "10.0.2.1/24")};
  known[0].ifindex = first, known[1].ifindex = second, known[2].ifindex = third;
  Config config;
  config.rails = {"eth0", "eth1", "old"};
  auto rails = usable_rails(config, host, known);
  ASSERT_TRUE(rails.ok()) << rails.status().message();
  ASSERT_EQ(rails.value().size(), 3u);
  for (const auto& [rail, is] : rails.value()) {
    ASSERT_GE(is, 0);
    EXPECT_EQ(rail.addresses, known[std::size_t(is)].addresses);
  }
}

// The renamed interface keeps its rail, though without a link. The other interface now has the configured name.
TEST_F(UsableRails, a_link_that_takes_the_name_of_a_known_rail_is_new) {
  FakeHost host;
  LinkFacts& renamed = host.link("net9", "veth");
  renamed.running = false;
  std::vector<Rail> known{rail_at("eth0", "10.0.0.1/24")};
  known[0].ifindex = renamed.ifindex;
  host.address("net9", "10.0.0.1/24");
  host.link("eth0", "veth");
  host.address("eth0", "10.0.1.1/24");
  Config config;
  config.rails = {"eth0"};
  auto rails = usable_rails(config, host, known).value();
  ASSERT_EQ(rails.size(), 1u);
  EXPECT_EQ(rails.front().rail.name, "eth0");
  EXPECT_EQ(rails.front().known, -1);
  host.find("net9").running = true;
  rails = usable_rails(config, host, known).value();
  ASSERT_EQ(rails.size(), 2u);
  EXPECT_EQ(rails.front().known, 0);
  EXPECT_EQ(rails.front().rail.name, "net9");
  known[0].ifindex = 0;  // the kernel reported the rail's interface as removed: net9 is another one
  rails = usable_rails(config, host, known).value();
  ASSERT_EQ(rails.size(), 1u);
  EXPECT_EQ(rails.front().rail.name, "eth0");
  EXPECT_EQ(rails.front().known, 0);
}

// The host no longer shows the hardware below a rail that is gone.
TEST_F(UsableRails, a_rail_that_is_gone_counts_as_what_it_was) {
  FakeHost host;
  host.card("mgmt0", "pci0000:00/0000:00:1f.0", "192.168.0.1/24", 1'000);
  Rail gone = rail_at("bond0", "10.0.0.1/24");
  gone.speed = Rate::from_megabits(100'000), gone.speed_known = true;
  gone.link_kind = LinkKind::hardware;
  EXPECT_TRUE(rails_beside(Config(), host, {gone})->empty()) << "of its class, and slow";
  gone.link_kind = LinkKind::fallback;
  EXPECT_EQ(rails_beside(Config(), host, {gone})->size(), 1u);
}

// A bridge keeps its class while its card reloads the driver.
TEST_F(UsableRails, a_rail_that_lost_what_it_runs_on_counts_as_what_it_was) {
  FakeHost host;
  host.link("br0", "bridge");
  host.address("br0", "10.0.0.1/24");
  host.link("eth1", "veth");
  host.address("eth1", "10.0.1.1/24");
  Rail known = rail_at("br0", "10.0.0.1/24");
  known.link_kind = LinkKind::hardware;
  const auto rails = rails_beside(Config(), host, {known}).value();
  ASSERT_EQ(rails.size(), 1u);
  EXPECT_EQ(rails.front().name, "br0");
}

// Peers must learn the addresses of a known rail, even if the host has better interfaces by now.
TEST_F(UsableRails, a_known_rail_has_its_addresses_though_there_is_better) {
  FakeHost host;
  host.link("eth0", "veth");
  host.address("eth0", "10.0.0.2/24");
  host.card("eth1", "pci0000:5e/0000:5e:00.0", "10.0.1.1/24", 100'000);
  Rail known = rail_at("eth0", "10.0.0.1/24");
  auto rails = rails_beside(Config(), host, {known});
  ASSERT_TRUE(rails.ok() && !rails->empty());
  EXPECT_EQ(rails->front().name, "eth0");
  EXPECT_EQ(to_string(without_scope(rails->front().addresses.front())), "10.0.0.2");
}

// Rails that are gone take no place. New rails get the places that the rails present leave of 16.
TEST_F(UsableRails, sixteen_rails_are_there_at_once) {
  FakeHost host;
  std::vector<Rail> known;
  for (int i = 0; i < 16; ++i) {
    Rail rail = rail_at("eth" + std::to_string(i), "10.0." + std::to_string(i) + ".1/24");
    rail.link_kind = LinkKind::hardware;
    known.push_back(rail);
    if (i > 0)
      host.card(rail.name, "pci0000:5d/0000:5d:" + std::to_string(10 + i) + ".0", "10.0." + std::to_string(i) + ".1/24",
                100'000);
  }
  host.card("new0", "pci0000:5e/0000:5e:00.0", "10.1.0.1/24", 100'000);
  host.card("new1", "pci0000:5e/0000:5e:01.0", "10.1.1.1/24", 100'000);
  auto rails = rails_beside(Config(), host, known);
  ASSERT_TRUE(rails.ok());
  ASSERT_EQ(rails->size(), 16u);
  EXPECT_EQ(rails->back().name, "new0");
}

TEST_F(UsableRails, a_tentative_address_is_waited_for) {
  FakeHost host;
  host.link("eth0", "veth");
  host.address("eth0", "fe80::1/64");
  AddressFacts& address = host.address("eth0", "2001:db8::1/64");
  address.tentative = true;
  host.on_sleep = [&] { address.tentative = host.now() - TimePoint{} < milliseconds(1500); };
  Config config;
  EXPECT_EQ("eth0", rails_of(host, config));
  EXPECT_EQ(1u, rail(host, "eth0").addresses.size());
  EXPECT_EQ(0u, rail(host, "eth0").addresses[0].scope_id);
}

// A host without any routable address uses its link-local ones.
TEST_F(UsableRails, a_tentative_link_local_address_alone_is_waited_for) {
  FakeHost host;
  host.link("eth0", "veth");
  host.link("eth1", "veth");
  host.address("eth0", "fe80::1/64");
  host.address("eth1", "fe80::2/64");
  host.tentative_until(TimePoint(milliseconds(1500)));
  EXPECT_EQ("eth0 eth1", rails_of(host));
  EXPECT_EQ(TimePoint(milliseconds(1500)), host.now());
}

TEST_F(UsableRails, a_tentative_link_local_one_beside_routable_is_not_waited_for) {
  FakeHost host;
  host.link("eth0", "veth");
  host.address("eth0", "10.0.0.1/24");
  host.link("eth1", "veth");
  host.address("eth1", "fe80::2/64").tentative = true;
  EXPECT_EQ("eth0", rails_of(host));
  EXPECT_EQ(TimePoint{}, host.now());
}

TEST_F(UsableRails, something_better_is_worth_the_whole_wait) {
  FakeHost host;  // mv0 is ready with a link-local address; a routable address of eth0 becomes usable late
  host.link("mv0", "macvlan");
  host.address("mv0", "fe80::2/64");
  host.link("eth0", "veth");
  host.address("eth0", "fe80::1/64");
  AddressFacts& address = host.address("eth0", "fd00::1/64");
  address.tentative = true;
  host.on_sleep = [&] { address.tentative = host.now() - TimePoint{} < milliseconds(1500); };
  EXPECT_EQ("eth0", rails_of(host));
}

}  // namespace
}  // namespace railweave::discovery
