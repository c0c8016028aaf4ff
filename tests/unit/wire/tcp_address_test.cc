#include "wire/bootstrap/address.h"

#include <gtest/gtest.h>

namespace railweave::wire {
namespace {

TEST(TcpAddress, text_and_back) {
  for (const char* text :
       {"10.0.0.1:5000", "127.0.0.1:0", "255.255.255.255:65535", "[::1]:80", "[fd00::12:34]:65535", "[fe80::1%lo]:7"}) {
    const auto address = parse_socket_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(to_string(address.value()), text);
  }
}

TEST(TcpAddress, ill_formed_text_is_named) {
  for (const char* text :
       {"", ":", "10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0:1", "::1:80", "[::1]", "[::1]80",
        "[::1:80", "[]:80", "[fe80::1%nonesuch0]:7", "host:80", "10.0.0.1:80x"}) {
    const auto address = parse_socket_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), Code::invalid_argument);
    EXPECT_NE(address.status().message().find(std::string("'") + text + "'"), std::string::npos);
  }
}

TEST(TcpAddress, ours_and_back) {
  Address v6;
  v6.family = Address::Family::v6;
  v6.prefix_bits = 128;
  v6.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  v6.scope_id = 1;
  EXPECT_EQ(socket_address(v6, 99).address(), v6);
  EXPECT_EQ(socket_address(v6, 99).port(), 99);
  Address v4;
  v4.bytes = {192, 168, 1, 2};
  EXPECT_EQ(socket_address(v4, 65535).address(), v4);
  EXPECT_EQ(socket_address(v4, 65535).port(), 65535);
}

TEST(TcpAddress, loopback) {
  EXPECT_TRUE(parse_socket_address("127.8.9.1:1").value().loopback());
  EXPECT_TRUE(parse_socket_address("[::1]:1").value().loopback());
  EXPECT_FALSE(parse_socket_address("128.0.0.1:1").value().loopback());
  EXPECT_FALSE(parse_socket_address("[::2]:1").value().loopback());
}

TEST(TcpAddress, of_no_socket) { EXPECT_EQ(to_string(local_address(-1)), "none"); }

}  // namespace
}  // namespace railweave::wire
