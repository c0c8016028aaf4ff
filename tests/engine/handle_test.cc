// Handles that no listener made: connect() refuses each at once and names the fault.
#include <gtest/gtest.h>

#include <cstring>

#include "base/crc32c.h"
#include "two_engines.h"

namespace railweave::engine_test {
namespace {

class BadHandle : public testing::Test {
 protected:
  void SetUp() override {
    engine_ = start_engine();
    ASSERT_TRUE(engine_);
    auto listener = engine_->listen(0, handle_);
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(*listener);
  }
  Status refusal(const Handle& handle) {
    auto connector = engine_->connect(0, handle);
    return connector.status();
  }
  // Returns the handle with another byte at `at` and the CRC that goes with it.
  Handle with(std::size_t at, std::uint8_t value) const {
    Handle h = handle_;
    h[at] = std::byte(value);
    std::memset(h.data() + 8, 0, 4);
    const std::uint32_t crc = crc32c(std::span(h).first(kHandleFixedBytes));
    std::memcpy(h.data() + 8, &crc, 4);
    return h;
  }
  static void expect(const Status& status, const char* text) {
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  }

  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Listener> listener_;
  Handle handle_{};
};

TEST_F(BadHandle, the_connectors_own_bytes_are_not_checked) {
  Handle h = handle_;
  for (std::size_t i = kHandleFixedBytes; i < kHandleBytes; ++i) h[i] = std::byte{0xEE};
  EXPECT_TRUE(refusal(h).ok()) << refusal(h).message();
}

TEST_F(BadHandle, foreign_bytes_are_refused) {
  expect(refusal(Handle{}), "not Railweave's");
  Handle random{};
  std::memcpy(random.data(), pattern(kHandleBytes, 3).data(), kHandleBytes);
  expect(refusal(random), "not Railweave's");
}

TEST_F(BadHandle, another_version_is_refused) { expect(refusal(with(4, 1)), "version 1, expected 3"); }

TEST_F(BadHandle, any_flipped_bit_is_refused) {
  for (std::size_t bit = 0; bit < kHandleFixedBytes * 8; ++bit) {
    Handle h = handle_;
    h[bit / 8] ^= std::byte(1u << (bit % 8));
    EXPECT_EQ(refusal(h).code(), Code::invalid_argument) << "bit " << bit;
  }
}

TEST_F(BadHandle, no_address_or_too_many_are_refused) {
  expect(refusal(with(6, 0)), "0 addresses, expected 1 to 4");
  expect(refusal(with(6, 5)), "5 addresses, expected 1 to 4");
}

TEST_F(BadHandle, an_unknown_address_family_is_refused) { expect(refusal(with(32, 9)), "family 9"); }

TEST_F(BadHandle, an_unknown_device_is_refused) {
  auto connector = engine_->connect(7, handle_);
  expect(connector.status(), "device 7, expected 0 to 0");
  Handle h;
  expect(engine_->listen(-1, h).status(), "device -1, expected 0 to 0");
}

// The address is right, but another instance listens there: the peer refuses the connect with that reason.
TEST_F(BadHandle, an_instance_that_left_its_port_to_another_is_refused) {
  Config patient = loopback();
  patient.connect_timeout = std::chrono::seconds(5);
  const auto other = start_engine(patient);
  ASSERT_TRUE(other);
  auto connector = other->connect(0, with(12, std::uint8_t(std::uint8_t(handle_[12]) ^ 0x5A)));
  ASSERT_TRUE(connector.ok());
  Status status;
  ASSERT_TRUE(eventually([&] {
    auto send = (*connector)->poll();
    if (!send.ok()) status = send.status();
    return !send.ok();
  }));
  EXPECT_NE(status.message().find("another instance"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace railweave::engine_test
