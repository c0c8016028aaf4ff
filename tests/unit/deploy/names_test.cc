#include "deploy/names.h"

#include <gtest/gtest.h>

namespace railweave::deploy {
namespace {

using Names = std::vector<std::string>;

void expect_fit(std::string (*problem)(const std::string&), const Names& names) {
  for (const std::string& name : names) EXPECT_EQ(problem(name), "");
}

void expect_unfit(std::string (*problem)(const std::string&), const Names& names) {
  for (const std::string& name : names) {
    const std::string found = problem(name);
    EXPECT_EQ(found.rfind("found '", 0), 0u) << name << ": " << found;
    EXPECT_LT(found.size(), 300u);
    for (const char c : found) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

std::string label(const std::string& text) { return label_problem(text); }

TEST(Names, labels) {
  expect_fit(label, {"a", "0", "train-1", std::string(63, 'a')});
  expect_unfit(label, {"", "-a", "a-", "A", "a_b", "a.b", "a b", "a\nb", "a: b", std::string(64, 'a'), "\xc3\xa9",
                       std::string(1'000'000, 'a')});
  EXPECT_NE(label_problem(std::string(41, 'a'), 40), "");
}

TEST(Names, subdomains) {
  expect_fit(subdomain_problem, {"key", "a.b", "railweave-key.v1"});
  expect_unfit(subdomain_problem, {"", ".", "a.", ".a", "a..b", "A", "a-.b", std::string(254, 'a')});
}

TEST(Names, resources_of_device_plugins) {
  expect_fit(resource_problem, {"openshift.io/rail0", "nvidia.com/gpu", "intel.com/VF_a.b"});
  expect_unfit(resource_problem, {"", "rail0", "/rail0", "a.b/", "a.b/c/d", "a.b/-c", "A.b/c", "a.b/c\nd"});
}

TEST(Names, images) {
  expect_fit(image_problem, {"railweave", "railweave:latest", "registry.example:5000/team/train:1.0_x",
                             "ghcr.io/a/b@sha256:" + std::string(64, 'a'), "a--b"});
  expect_unfit(image_problem, {"", ":latest", "a:", "a b", "a\nb", "/a", "a//b", "a@sha256:12", "-a", "a: b", "a #b",
                               "a/" + std::string(300, 'b')});
}

TEST(Names, subnets_overlap_if_the_shorter_prefix_is_common) {
  EXPECT_TRUE(subnets_overlap("10.0.0.0/24", "10.0.0.0/24"));
  EXPECT_TRUE(subnets_overlap("10.0.3.0/24", "10.0.0.0/22"));
  EXPECT_FALSE(subnets_overlap("10.0.4.0/24", "10.0.0.0/22"));
  EXPECT_TRUE(subnets_overlap("fd00::/16", "fd00:10::/64"));
  EXPECT_TRUE(subnets_overlap("fd00:10::/64", "fd00:0010:0:0::/64")) << "one subnet, written in two ways";
  EXPECT_FALSE(subnets_overlap("fd00:11::/64", "fd00:10::/64"));
  EXPECT_FALSE(subnets_overlap("a00::/16", "10.0.0.0/16"));
}

TEST(Names, subnets) {
  expect_fit(subnet_problem,
             {"192.168.10.0/24", "10.0.0.0/8", "0.0.0.0/1", "10.0.0.4/30", "fd00:10::/64", "fd00::/126"});
  expect_unfit(subnet_problem,
               {"", "192.168.10.0", "192.168.10.1/24", "192.168.10.0/31", "192.168.10.0/0", "300.0.0.0/8",
                "192.168.10.0/24x", "fd00::1/64", "fd00::/127", "fd00::/-1", "a/24", "/24", "10.0.0.0/"});
}

TEST(Names, interfaces) {
  expect_fit(interface_problem, {"eth0", "ens1f0np0", "bond0.100", "fifteen_letters"});
  expect_unfit(interface_problem, {"", "sixteen__letters", "a/b", "a b", "a:1", "a%d", ".", "..", "a\n", "\xc3\xa9"});
}

TEST(Names, words_of_a_command) {
  expect_fit(word_problem, {"", "--flag=1", "a b", "${HOME}", "caf\xc3\xa9", "true"});
  expect_unfit(word_problem, {"a\nb", "\x1b[0m", "\x7f", "\xff\xfe", std::string(4097, 'a')});
}

}  // namespace
}  // namespace railweave::deploy
