// A fake host: links and addresses are in memory, sysfs is a tree of files and links in a temporary directory, and time
// passes only in sleep().
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "discovery/host_view.h"

namespace railweave::discovery {

inline Address address_of(const std::string& text) {  // "192.0.2.1/24", "fd00::1/64"
  Address address;
  const std::size_t slash = text.find('/');
  const std::string bare = text.substr(0, slash);
  const bool v6 = bare.find(':') != bare.npos;
  address.family = v6 ? Address::Family::v6 : Address::Family::v4;
  EXPECT_EQ(1, inet_pton(v6 ? AF_INET6 : AF_INET, bare.c_str(), address.bytes.data())) << text;
  address.prefix_bits = static_cast<std::uint8_t>(std::stoi(text.substr(slash + 1)));
  return address;
}

class FakeHost final : public HostView {
 public:
  FakeHost() {
    std::string name = "/tmp/rw-sysfs-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name.data()));
    root_ = name;
    std::filesystem::create_directories(root_ + "/class/net");
  }
  ~FakeHost() override { std::filesystem::remove_all(root_); }

  std::string sysfs_root() const override { return root_; }
  std::string procfs_root() const override { return root_ + "/proc"; }
  std::string etc_root() const override { return root_ + "/etc"; }
  Result<std::vector<LinkFacts>> links() const override { return links_; }
  Result<std::vector<AddressFacts>> addresses() const override {
    std::vector<AddressFacts> all = addresses_;
    if (now_ < tentative_until_)
      for (AddressFacts& one : all) one.tentative = true;
    return all;
  }
  TimePoint now() const override { return now_; }
  void sleep(Nanos time) const override {
    now_ += time;
    if (on_sleep) on_sleep();
  }

  // All addresses are in duplicate detection until `time`.
  void tentative_until(TimePoint time) { tentative_until_ = time; }

  // Adds a link that is up and running. `kind`: as in rtnetlink; empty: hardware.
  LinkFacts& link(const std::string& name, const std::string& kind = "") {
    LinkFacts link;
    link.name = name;
    link.ifindex = static_cast<int>(links_.size()) + 1;
    link.up = link.running = true;
    link.loopback = name == "lo";
    link.kind = kind;
    links_.push_back(link);
    put("class/net/" + name + "/ifindex", std::to_string(link.ifindex) + "\n");
    return links_.back();
  }
  LinkFacts& find(const std::string& name) {
    for (LinkFacts& link : links_) {
      if (link.name == name) return link;
    }
    ADD_FAILURE() << name;
    return links_.front();
  }

  AddressFacts& address(const std::string& name, const std::string& text) {
    AddressFacts facts;
    facts.ifindex = find(name).ifindex;
    facts.address = address_of(text);
    addresses_.push_back(facts);
    return addresses_.back();
  }

  // Adds a card at `pci` ("pci0000:5d/0000:5d:00.0/0000:5e:00.0") with its address and speed. `below`: path of the
  // device below the PCI function, such as "/virtio2" or "/usb1/...".
  LinkFacts& card(const std::string& name, const std::string& pci, const std::string& address_text, int speed_mbit,
                  const std::string& below = "", int node = 0) {
    link(name);
    put("devices/" + pci + "/numa_node", std::to_string(node) + "\n");
    std::filesystem::create_directories(root_ + "/devices/" + pci + below);
    std::filesystem::create_directory_symlink("../../../devices/" + pci + below,
                                              root_ + "/class/net/" + name + "/device");
    put("class/net/" + name + "/speed", std::to_string(speed_mbit) + "\n");
    if (!address_text.empty()) address(name, address_text);
    return find(name);
  }

  // Adds virtual function `name` at `pci`, which belongs to the physical function at `pf`.
  LinkFacts& virtual_function(const std::string& name, const std::string& pci, const std::string& pf,
                              const std::string& address_text, int speed_mbit) {
    card(name, pci, address_text, speed_mbit);
    std::filesystem::create_directories(root_ + "/devices/" + pf);
    std::filesystem::create_directory_symlink(root_ + "/devices/" + pf, root_ + "/devices/" + pci + "/physfn");
    return find(name);
  }

  LinkFacts& loopback() {
    link("lo").mtu_bytes = 65536;
    address("lo", "127.0.0.1/8");
    address("lo", "::1/128");
    return find("lo");
  }

  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file(root_ + "/" + path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  // Writes a file of /proc/sys/net/ipv4, such as "conf/all/arp_ignore".
  void setting(const std::string& path, const std::string& text) { put("proc/sys/net/ipv4/" + path, text + "\n"); }

  std::string root() const { return root_; }
  std::function<void()> on_sleep;

 private:
  std::string root_;
  std::vector<LinkFacts> links_;
  std::vector<AddressFacts> addresses_;
  TimePoint tentative_until_{};
  mutable TimePoint now_{};
};

}  // namespace railweave::discovery
