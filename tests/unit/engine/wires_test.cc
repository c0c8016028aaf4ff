// Wires: which wire a lane goes by, from the dialler's offer and the acceptor's wires.
#include "engine/rails/wires.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "railweave/log.h"

#include "tests/unit/engine/paper_lane.h"

namespace railweave::engine {
namespace {

using wire::Offer;
using wire::PendingLane;
using wire::Port;

constexpr int kRail = 0;

// A fake pending lane: records the offer of the other end.
class PaperPending final : public PendingLane {
 public:
  PaperPending(std::string& heard, bool is_torn) : heard_(heard), is_torn_(is_torn) {}
  Result<Offer> offer() override { return Offer{{std::byte{9}}}; }
  Status complete(Offer offer) override {
    heard_ += offer.bytes.empty() ? "nothing" : offer.bytes.front() == std::byte{9} ? "nine" : "nonsense";
    return heard_ == "nonsense" ? Status(Code::remote, Scope::lane, "no offer of paper") : Status();
  }
  void start(wire::Bootstrap) override {}
  Result<std::unique_ptr<wire::Lane>> poll() override {
    if (is_torn_) return Status(Code::remote, Scope::lane, "torn");
    return std::unique_ptr<wire::Lane>(std::make_unique<PaperLane>(paper_, "eth0"));
  }

 private:
  std::string& heard_;
  const bool is_torn_;
  Paper paper_;
};

// A fake wire: records which lanes began, and the offers that its pending lanes received.
class PaperWire final : public wire::Wire {
 public:
  explicit PaperWire(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  Reach reach() const override { return Reach::between_hosts; }
  bool is_plain() const override { return name_ == "plain"; }
  bool can_encrypt() const override { return is_plain(); }
  Result<std::unique_ptr<Port>> open(const Rail*, const Config&) const override {
    if (name_ == "absent") return Status(Code::invalid_config, Scope::engine, "no paper");
    class PaperPort final : public Port {
     public:
      explicit PaperPort(const PaperWire& wire) : wire_(wire) {}
      Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
        if (wire_.is_short) return Status(Code::exhausted, Scope::lane, "no more of these");
        wire_.begun += role == Role::dialler ? "dialled " : "accepted ";
        return std::unique_ptr<PendingLane>(std::make_unique<PaperPending>(wire_.heard, wire_.is_torn));
      }

     private:
      const PaperWire& wire_;
    };
    return std::unique_ptr<Port>(std::make_unique<PaperPort>(*this));
  }
  mutable std::string begun, heard;
  bool is_short = false;  // no lane can begin
  bool is_torn = false;   // lanes begin, and fail

 private:
  const std::string_view name_;
};

constexpr InstanceId kPeer{7}, kOther{8};
const std::vector<std::byte> kNine{std::byte{9}};
using Offers = std::vector<WireOffer>;

// What both ends do after they agreed. `fails`: no lane comes of it.
void establish(Wires::Begun& begun, bool fails) {
  const std::unique_ptr<PendingLane> pending = begun.take_agreed();
  pending->start({});
  EXPECT_EQ(pending->poll().ok(), !fails);
}

struct WireChoice : ::testing::Test {
  Wires made_of(std::vector<const wire::Wire*> list) {
    Wires wires(config, std::move(list));
    wires.know_rail(kRail, Rail{.name = "eth0",
                                .ifindex = 1,
                                .addresses = {},
                                .speed = {},
                                .pci_path = {},
                                .physical_function = {},
                                .vrf = {}});
    return wires;
  }
  Config config;
  PaperWire fast{"fast"}, plain{"plain"}, absent{"absent"};
};

TEST_F(WireChoice, a_plain_wire_alone_offers_nothing_in_the_hello) {
  Wires wires = made_of({&absent, &plain});
  auto begun = wires.dial(kRail, kPeer);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->offers(), Offers{});
  EXPECT_EQ(plain.begun, "dialled ");
  EXPECT_EQ(absent.begun, "");
}

TEST_F(WireChoice, all_wires_that_are_there_are_offered_in_order) {
  Wires wires = made_of({&absent, &fast, &plain});
  auto begun = wires.dial(kRail, kPeer);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->offers(), (Offers{{"fast", kNine}, {"plain", kNine}}));
}

TEST_F(WireChoice, an_offer_that_is_taken_up_reaches_both_ends) {
  Wires near = made_of({&fast, &plain}), far = made_of({&fast, &plain});
  auto dialled = near.dial(kRail, kPeer);
  auto accepted = far.accept(kRail, kPeer, dialled->offers());
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->offers(), (Offers{{"fast", kNine}}));
  EXPECT_TRUE(Wires::agree(*dialled, accepted->offers()).ok());
  EXPECT_EQ(dialled->agreed_wire(), "fast");
  EXPECT_FALSE(dialled->is_plain());
  EXPECT_EQ(fast.begun, "dialled accepted ");
  EXPECT_EQ(fast.heard, "ninenine");
}

TEST_F(WireChoice, the_diallers_order_decides) {
  Wires near = made_of({&plain, &fast}), far = made_of({&fast, &plain});
  auto dialled = near.dial(kRail, kPeer);
  auto accepted = far.accept(kRail, kPeer, dialled->offers());
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->offers(), Offers{});
  EXPECT_TRUE(Wires::agree(*dialled, accepted->offers()).ok());
  EXPECT_TRUE(dialled->is_plain());
}

TEST_F(WireChoice, an_acceptor_that_lacks_the_wire_takes_the_plain_one) {
  Wires near = made_of({&fast, &plain}), far = made_of({&absent, &plain});
  auto dialled = near.dial(kRail, kPeer);
  auto accepted = far.accept(kRail, kPeer, dialled->offers());
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->offers(), Offers{});
  EXPECT_TRUE(Wires::agree(*dialled, accepted->offers()).ok());
  EXPECT_EQ(dialled->agreed_wire(), "plain");
}

TEST_F(WireChoice, an_old_dialler_without_an_offer_gets_the_plain_wire) {
  Wires wires = made_of({&fast, &plain});
  ASSERT_TRUE(wires.accept(kRail, kPeer, {}).ok());
  EXPECT_EQ(plain.begun, "accepted ");
  EXPECT_EQ(fast.begun, "");
}

TEST_F(WireChoice, without_a_wire_in_common_the_refusal_names_those_of_both) {
  config.wires = {"verbs"};
  Wires near = made_of({&plain}), far = made_of({&fast, &absent});
  auto dialled = near.dial(kRail, kPeer);
  EXPECT_EQ(far.accept(kRail, kPeer, dialled->offers()).status().message(),
            "no wire in common: the dialler offers no other than the plain one; RAILWEAVE_WIRES=verbs here; absent: no "
            "paper");
  EXPECT_EQ(far.accept(kRail, kPeer, {{"slow", {}}, {"plain", {}}}).status().message(),
            "no wire in common: the dialler offers slow,plain; RAILWEAVE_WIRES=verbs here; absent: no paper");
}

TEST_F(WireChoice, an_answer_by_a_wire_not_offered_is_the_peers_error) {
  Wires wires = made_of({&fast});
  auto dialled = wires.dial(kRail, kPeer);
  EXPECT_EQ(Wires::agree(*dialled, {{"absent", {}}}).message(),
            "the peer answers by wire absent, which was not offered");
  EXPECT_EQ(Wires::agree(*dialled, {}).code(), Code::remote);
}

TEST_F(WireChoice, nonsense_in_an_offer_is_the_peers_error) {
  Wires wires = made_of({&fast, &plain});
  const auto accepted = wires.accept(kRail, kPeer, {{"fast", {std::byte{1}}}});
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.status().code(), Code::remote);
}

// An offer of another libfabric is one.
TEST_F(WireChoice, an_offer_that_does_not_suit_leaves_its_wire_out) {
  Wires near = made_of({&fast, &plain}), far = made_of({&fast, &plain});
  auto dialled = near.dial(kRail, kPeer);
  auto offers = dialled->offers();
  offers.front().bytes = {std::byte{1}};
  auto accepted = far.accept(kRail, kPeer, offers);
  ASSERT_TRUE(accepted.ok()) << accepted.status().message();
  EXPECT_TRUE(accepted->is_plain());
}

TEST_F(WireChoice, an_answer_that_the_dialler_cannot_take_leaves_the_wire_out) {
  Wires wires = made_of({&fast, &plain});
  auto dialled = wires.dial(kRail, kPeer);
  EXPECT_EQ(Wires::agree(*dialled, {{"fast", {std::byte{1}}}}).message(), "no offer of paper");
  EXPECT_EQ(wires.dial(kRail, kPeer)->offers(), Offers{});
}

TEST_F(WireChoice, a_wire_that_can_begin_no_lane_is_not_offered) {
  fast.is_short = true;
  Wires wires = made_of({&fast, &plain});
  auto begun = wires.dial(kRail, kPeer);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->offers(), Offers{});
}

std::vector<std::string> warnings;  // of the test that runs

TEST_F(WireChoice, a_wire_that_can_begin_no_lane_is_a_warning_once) {
  warnings.clear();
  const LogSink before = set_log_sink([](LogLevel level, LogTopic, const char*, int, std::string_view text) {
    if (level == LogLevel::warn) warnings.emplace_back(text);
  });
  Wires near = made_of({&fast, &plain}), far = made_of({&fast, &plain});
  auto dialled = near.dial(kRail, kPeer);
  fast.is_short = true;
  EXPECT_FALSE(far.accept(kRail, kPeer, {dialled->offers().front()}).ok());
  EXPECT_EQ(warnings, std::vector<std::string>{});  // no lane came of it, so the error says why
  EXPECT_TRUE(far.accept(kRail, kPeer, dialled->offers()).ok());
  const std::string line =
      "wire fast begins no lane on rail eth0, so the lane goes by another wire of RAILWEAVE_WIRES: no more of these";
  EXPECT_EQ(warnings, std::vector{line});
  for (int lane = 0; lane < 3; ++lane) EXPECT_TRUE(near.dial(kRail, kPeer).ok());
  EXPECT_EQ(warnings, (std::vector{line, line}));
  set_log_sink(before);
}

TEST_F(WireChoice, a_wire_that_brought_no_lane_is_a_warning_once) {
  warnings.clear();
  const LogSink before = set_log_sink([](LogLevel level, LogTopic, const char*, int, std::string_view text) {
    if (level == LogLevel::warn) warnings.emplace_back(text);
  });
  fast.is_torn = true;
  Wires wires = made_of({&fast, &plain});
  auto begun = wires.dial(kRail, kPeer);
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, true);
  EXPECT_EQ(warnings, std::vector<std::string>{});  // no lane went by another wire yet
  for (int lane = 0; lane < 3; ++lane) EXPECT_TRUE(wires.dial(kRail, kPeer).ok());
  EXPECT_TRUE(wires.accept(kRail, kPeer, {{"fast", kNine}, {"plain", kNine}}).ok());
  EXPECT_EQ(warnings,
            std::vector<std::string>{"wire fast begins no lane on rail eth0, so the lane goes by another wire "
                                     "of RAILWEAVE_WIRES: its last lane to this peer failed: torn"});
  set_log_sink(before);
}

TEST_F(WireChoice, an_acceptor_whose_wire_can_begin_no_lane_takes_the_next) {
  Wires near = made_of({&fast, &plain});
  auto dialled = near.dial(kRail, kPeer);
  fast.is_short = true;
  Wires far = made_of({&fast, &plain});
  auto accepted = far.accept(kRail, kPeer, dialled->offers());
  ASSERT_TRUE(accepted.ok()) << accepted.status().message();
  EXPECT_EQ(accepted->offers(), Offers{});
  EXPECT_EQ(plain.begun, "dialled accepted ");
}

TEST_F(WireChoice, a_wire_that_brought_no_lane_is_left_out_for_this_peer) {
  fast.is_torn = true;
  Wires wires = made_of({&fast, &plain});
  auto begun = wires.dial(kRail, kPeer);
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, true);
  EXPECT_EQ(wires.dial(kRail, kPeer)->offers(), Offers{});
  EXPECT_EQ(wires.dial(kRail, kOther)->offers().size(), 2u);
  auto accepted = wires.accept(kRail, kPeer, {{"fast", kNine}, {"plain", kNine}});
  ASSERT_TRUE(accepted.ok());
  EXPECT_TRUE(accepted->is_plain());
}

TEST_F(WireChoice, the_only_wire_is_tried_again_though_it_brought_no_lane) {
  fast.is_torn = true;
  Wires wires = made_of({&fast});
  auto begun = wires.dial(kRail, kPeer);
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, true);
  EXPECT_EQ(wires.dial(kRail, kPeer)->offers().size(), 1u);
  EXPECT_TRUE(wires.accept(kRail, kPeer, {{"fast", kNine}}).ok());
}

TEST_F(WireChoice, the_only_wire_in_common_is_tried_again) {
  fast.is_torn = true;
  Wires wires = made_of({&fast});
  auto begun = wires.dial(kRail, kPeer);
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, true);
  EXPECT_TRUE(wires.accept(kRail, kPeer, {{"fast", kNine}, {"strange", kNine}}).ok());
}

TEST_F(WireChoice, a_lane_on_its_way_that_is_given_up_at_once_is_no_failure) {
  Wires wires = made_of({&fast, &plain});
  auto begun = wires.dial(kRail, kPeer);
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, false);
  EXPECT_EQ(wires.dial(kRail, kPeer)->offers().size(), 2u);
}

TEST_F(WireChoice, a_wire_that_brought_lanes_is_better_than_a_later_one) {
  Wires wires = made_of({&fast, &plain});
  EXPECT_FALSE(wires.has_better(kRail, kPeer, "plain")) << "no lane ever went by the fast wire";
  auto begun = wires.dial(kRail, kPeer);
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, false);
  EXPECT_TRUE(wires.has_better(kRail, kPeer, "plain"));
  EXPECT_FALSE(wires.has_better(kRail, kPeer, "fast"));
  EXPECT_FALSE(wires.has_better(kRail, kOther, "plain"));
  fast.is_torn = true;
  begun = wires.dial(kRail, kPeer, "plain");
  EXPECT_EQ(begun->offers(), (Offers{{"fast", kNine}}));
  EXPECT_TRUE(Wires::agree(*begun, {{"fast", kNine}}).ok());
  establish(*begun, true);
  EXPECT_TRUE(wires.has_better(kRail, kPeer, "plain")) << "nothing would wake the caller when it is no longer left out";
  EXPECT_EQ(wires.dial(kRail, kPeer, "plain")->offers(), (Offers{{"fast", kNine}}));
}

TEST_F(WireChoice, no_lane_begins_by_a_better_wire_that_lacks_something) {
  Wires wires = made_of({&fast, &plain});
  fast.is_short = true;
  EXPECT_EQ(wires.dial(kRail, kPeer, "plain").status().message(), "no more of these");
  EXPECT_EQ(wires.dial(kRail, kPeer, "fast").status().message(), "no wire can be used");
  EXPECT_EQ(plain.begun, "");
}

TEST_F(WireChoice, encryption_leaves_out_wires_that_cannot_encrypt) {
  config.encrypt = true;
  Wires wires = made_of({&fast, &plain});
  EXPECT_TRUE(wires.check().ok());
  EXPECT_EQ(wires.dial(kRail, kPeer)->offers(), Offers{});
}

TEST_F(WireChoice, encryption_without_a_wire_for_it_is_an_error) {
  config.encrypt = true;
  config.wires = {"verbs"};
  EXPECT_EQ(made_of({&fast}).check().message(),
            "RAILWEAVE_WIRES=verbs has no wire that can encrypt, and RAILWEAVE_ENCRYPT is on; add tcp");
}

TEST_F(WireChoice, without_any_wire_the_error_says_why) {
  Wires wires = made_of({&absent});
  EXPECT_EQ(wires.dial(kRail, kPeer).status().message(), "no wire can be used; absent: no paper");
  EXPECT_FALSE(wires.accept(kRail, kPeer, {}).ok());
}

// With the wires of this build.
TEST(WireTable, processes_of_one_host_share_an_object_by_its_descriptor) {
  const Config config;
  Wires near(config), far(config);
  auto dialled = near.dial(Wires::kWithinHost, kPeer);
  ASSERT_TRUE(dialled.ok()) << dialled.status().message();
  EXPECT_EQ(dialled->offers(), Offers{});
  EXPECT_TRUE(dialled->descriptor);
  EXPECT_TRUE(far.accept(Wires::kWithinHost, kPeer, {}, std::move(dialled->descriptor)).ok());
  const auto without = far.accept(Wires::kWithinHost, kPeer, {});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.status().code(), Code::remote);
}

}  // namespace
}  // namespace railweave::engine
