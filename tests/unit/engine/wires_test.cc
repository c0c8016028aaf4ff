// Wires: which wire a lane goes by, from the dialler's offer and the acceptor's wires.
#include "engine/rails/wires.h"

#include <gtest/gtest.h>

#include <utility>

namespace railweave::engine {
namespace {

using wire::Offer;
using wire::PendingLane;
using wire::Port;

constexpr int kRail = 0;

// A fake pending lane: records the offer of the other end. No lane comes of it.
class PaperPending final : public PendingLane {
 public:
  explicit PaperPending(std::string& heard) : heard_(heard) {}
  Result<Offer> offer() override { return Offer{{std::byte{9}}}; }
  Status complete(Offer offer) override {
    heard_ += offer.bytes.empty() ? "nothing" : offer.bytes.front() == std::byte{9} ? "nine" : "nonsense";
    return heard_ == "nonsense" ? Status(Code::remote, Scope::lane, "no offer of paper") : Status();
  }
  void start(wire::Bootstrap) override {}
  Result<std::unique_ptr<wire::Lane>> poll() override { return std::unique_ptr<wire::Lane>(); }

 private:
  std::string& heard_;
};

// A fake wire: records which lanes began, and the offers that its pending lanes received.
class PaperWire final : public wire::Wire {
 public:
  explicit PaperWire(std::string_view name, bool is_available = true) : name_(name), is_available_(is_available) {}
  std::string_view name() const override { return name_; }
  Reach reach() const override { return Reach::between_hosts; }
  bool is_available() const override { return is_available_; }
  Result<std::unique_ptr<Port>> open(const Rail*, const Config&) const override {
    class PaperPort final : public Port {
     public:
      explicit PaperPort(const PaperWire& wire) : wire_(wire) {}
      Result<std::unique_ptr<PendingLane>> begin_lane(Role role) override {
        if (wire_.is_short) return Status(Code::exhausted, Scope::lane, "no more of these");
        wire_.begun += role == Role::dialler ? "dialled " : "accepted ";
        return std::unique_ptr<PendingLane>(std::make_unique<PaperPending>(wire_.heard));
      }

     private:
      const PaperWire& wire_;
    };
    return std::unique_ptr<Port>(std::make_unique<PaperPort>(*this));
  }
  mutable std::string begun, heard;
  bool is_short = false;

 private:
  const std::string_view name_;
  const bool is_available_;
};

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
  PaperWire fast{"fast"}, plain{"plain"}, absent{"absent", false};
};

TEST_F(WireChoice, a_plain_wire_offers_nothing_in_the_hello) {
  Wires wires = made_of({&absent, &plain});
  auto begun = wires.dial(kRail);
  ASSERT_TRUE(begun.ok());
  EXPECT_FALSE(begun->offer);
  EXPECT_EQ(plain.begun, "dialled ");
  EXPECT_EQ(absent.begun, "");
}

TEST_F(WireChoice, the_first_wire_that_is_there_is_offered) {
  Wires wires = made_of({&absent, &fast, &plain});
  auto begun = wires.dial(kRail);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->offer, (WireOffer{"fast", {std::byte{9}}}));
}

TEST_F(WireChoice, an_offer_that_is_taken_up_reaches_both_ends) {
  Wires near = made_of({&fast, &plain}), far = made_of({&fast, &plain});
  auto dialled = near.dial(kRail);
  auto accepted = far.accept(kRail, dialled->offer);
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->offer, dialled->offer);
  EXPECT_TRUE(near.agree(kRail, *dialled, accepted->offer).ok());
  EXPECT_EQ(fast.begun, "dialled accepted ");
  EXPECT_EQ(fast.heard, "ninenine");
  EXPECT_EQ(plain.begun, "");
}

TEST_F(WireChoice, an_acceptor_that_lacks_the_wire_takes_the_plain_one) {
  Wires near = made_of({&fast, &plain}), far = made_of({&absent, &plain});
  auto dialled = near.dial(kRail);
  auto accepted = far.accept(kRail, dialled->offer);
  ASSERT_TRUE(accepted.ok());
  EXPECT_FALSE(accepted->offer);
  EXPECT_TRUE(near.agree(kRail, *dialled, accepted->offer).ok());
  EXPECT_FALSE(dialled->offer);
  EXPECT_EQ(fast.begun, "dialled ");
  EXPECT_EQ(plain.begun, "accepted dialled ");
}

TEST_F(WireChoice, an_old_dialler_without_an_offer_gets_the_plain_wire) {
  Wires wires = made_of({&fast, &plain});
  ASSERT_TRUE(wires.accept(kRail, {}).ok());
  EXPECT_EQ(plain.begun, "accepted ");
  EXPECT_EQ(fast.begun, "");
}

TEST_F(WireChoice, an_answer_by_a_wire_not_offered_counts_as_the_plain_one) {
  Wires wires = made_of({&fast, &plain});
  auto dialled = wires.dial(kRail);
  EXPECT_TRUE(wires.agree(kRail, *dialled, WireOffer{"absent", {}}).ok());
  EXPECT_EQ(plain.begun, "dialled ");
}

TEST_F(WireChoice, nonsense_in_an_offer_is_the_peers_error) {
  Wires wires = made_of({&fast, &plain});
  const auto accepted = wires.accept(kRail, WireOffer{"fast", {std::byte{1}}});
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.status().code(), Code::remote);
}

TEST_F(WireChoice, a_wire_that_can_begin_no_lane_leaves_the_dial_to_the_next) {
  fast.is_short = true;
  Wires wires = made_of({&fast, &plain});
  ASSERT_TRUE(wires.dial(kRail).ok());
  EXPECT_EQ(plain.begun, "dialled ");
}

TEST_F(WireChoice, an_acceptor_whose_wire_can_begin_no_lane_takes_the_plain_one) {
  Wires near = made_of({&fast, &plain});
  auto dialled = near.dial(kRail);
  fast.is_short = true;
  Wires far = made_of({&fast, &plain});
  auto accepted = far.accept(kRail, dialled->offer);
  ASSERT_TRUE(accepted.ok()) << accepted.status().message();
  EXPECT_FALSE(accepted->offer);
  EXPECT_EQ(plain.begun, "accepted ");
}

TEST_F(WireChoice, the_last_of_the_list_is_plain_though_it_cannot_be_used_here) {
  Wires wires = made_of({&fast, &absent});
  auto begun = wires.dial(kRail);
  ASSERT_TRUE(begun.ok());
  EXPECT_TRUE(begun->offer);
  EXPECT_FALSE(wires.accept(kRail, {}).ok());
}

TEST_F(WireChoice, without_any_wire_the_error_says_so) {
  Wires wires = made_of({&absent});
  EXPECT_FALSE(wires.dial(kRail).ok());
  EXPECT_FALSE(wires.accept(kRail, {}).ok());
}

// With the wires of this build.
TEST(WireTable, processes_of_one_host_share_an_object_by_its_descriptor) {
  const Config config;
  Wires near(config), far(config);
  auto dialled = near.dial(Wires::kWithinHost);
  ASSERT_TRUE(dialled.ok()) << dialled.status().message();
  EXPECT_FALSE(dialled->offer);
  EXPECT_TRUE(dialled->descriptor);
  EXPECT_TRUE(far.accept(Wires::kWithinHost, {}, std::move(dialled->descriptor)).ok());
  const auto without = far.accept(Wires::kWithinHost, {});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.status().code(), Code::remote);
}

}  // namespace
}  // namespace railweave::engine
