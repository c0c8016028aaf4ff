#include "common/host_ports.h"

#include <gtest/gtest.h>

namespace railweave::perf {
namespace {

TEST(HostPorts, are_addresses_and_names_with_a_port_each) {
  const auto places = parse_host_ports("10.0.0.2:7001,host-b:65535,fd00::2:1").value();
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].address, "10.0.0.2");
  EXPECT_EQ(places[0].port, 7001);
  EXPECT_EQ(places[1].address, "host-b");
  EXPECT_EQ(places[1].port, 65535);
  EXPECT_EQ(places[2].address, "fd00::2");
  EXPECT_EQ(places[2].port, 1);
}

TEST(HostPorts, parse_host_ports__quotes_what_is_malformed) {
  for (const char* text : {"", "10.0.0.2", ":7001", "10.0.0.2:", "10.0.0.2:0", "10.0.0.2:65536", "10.0.0.2:-1",
                           "10.0.0.2:7001 ", "10.0.0.2:70x"}) {
    const std::string place = text;
    for (const std::string& list : {place, "host-a:1," + place, place + ",host-b:2"}) {
      const auto places = parse_host_ports(list);
      ASSERT_FALSE(places.ok()) << list;
      EXPECT_EQ(places.status().code(), Code::invalid_argument);
      const std::string said(places.status().message());
      EXPECT_NE(said.find("found '" + place + "', expected ADDRESS:PORT"), std::string::npos) << said;
    }
  }
}

}  // namespace
}  // namespace railweave::perf
