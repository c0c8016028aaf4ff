// Discovery with a sysfs whose files are empty, huge, nonsense or pipes, and whose links lead astray.
#include <sys/stat.h>
#include <random>

#include "discovery/sysfs.h"
#include "expect_rails.h"

namespace railweave::discovery {
namespace {

constexpr char kPort[] = "pci0000:5d/0000:5d:00.0/0000:5e:00.0";

TEST(OddSysfs, texts_that_are_no_speed_leave_it_unknown) {
  for (const std::string text : {"", "\n", "-1\n", "0\n", "fast\n", "1e9\n", "100000 Mb\n", "0x10\n", "4294967295\n",
                                 "99999999999999999999999\n", "+5\n"}) {
    FakeHost host;
    host.card("eth0", kPort, "10.0.0.1/24", 1);
    host.put("class/net/eth0/speed", text);
    host.put("devices/" + std::string(kPort) + "/numa_node", text);
    const Rail eth0 = rail(host, "eth0");
    EXPECT_FALSE(eth0.speed_known) << text;
    EXPECT_DOUBLE_EQ(10'000, eth0.speed.megabits()) << text;
    EXPECT_TRUE(eth0.numa_node == -1 || text == "0\n") << text;
  }
}

TEST(OddSysfs, a_huge_text_is_no_text) {
  FakeHost host;
  host.put("class/net/eth0/speed", std::string(1 << 20, '1'));
  const Sysfs sysfs(host.root());
  EXPECT_FALSE(sysfs.text("/sys/class/net/eth0/speed").has_value());
  EXPECT_FALSE(sysfs.number("/sys/class/net/eth0/speed").has_value());
}

TEST(OddSysfs, reads_the_first_line_without_blanks) {
  FakeHost host;
  host.put("a", "  25000 \nrest");
  EXPECT_EQ(25000, Sysfs(host.root()).number("/sys/a"));
}

TEST(OddSysfs, a_pipe_a_directory_and_a_missing_file_do_not_block) {
  FakeHost host;
  ASSERT_EQ(0, mkfifo((host.root() + "/pipe").c_str(), 0600));
  const Sysfs sysfs(host.root());
  EXPECT_FALSE(sysfs.number("/sys/pipe").has_value());
  EXPECT_FALSE(sysfs.number("/sys/class").has_value());
  EXPECT_FALSE(sysfs.number("/sys/none").has_value());
}

TEST(OddSysfs, links_out_of_the_tree_and_in_circles_lead_nowhere) {
  FakeHost host;
  std::filesystem::create_directory_symlink("/", host.root() + "/out");
  std::filesystem::create_directory_symlink("circle", host.root() + "/circle");
  const Sysfs sysfs(host.root());
  EXPECT_EQ("", sysfs.real_path("/sys/out"));
  EXPECT_EQ("", sysfs.real_path("/sys/circle"));
  EXPECT_EQ("", sysfs.real_path("/sys/none"));
  EXPECT_EQ("/sys/class/net", sysfs.real_path("/sys/class/net"));
}

TEST(OddSysfs, names_cannot_walk_the_tree) {
  FakeHost host;
  for (const char* name : {"..", "."}) {
    LinkFacts& link = host.link("x");
    link.name = name;
  }
  host.link("eth0", "veth");
  host.address("eth0", "10.0.0.1/24");
  EXPECT_EQ("eth0", rails_of(host));
}

TEST(OddSysfs, stacks_in_circles_end) {
  FakeHost host;
  host.link("a", "vlan").lower = 2;
  host.link("b", "vlan").lower = 1;
  host.link("c", "bond").master = 3;
  for (const char* name : {"a", "b", "c"}) host.address(name, "10.0.0.1/24");
  survey_rails({}, host);  // no crash, no endless descent
}

TEST(OddSysfs, random_texts_everywhere_never_crash) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string alphabet = "0123456789-+.ex \n\t:/pfvs#";
  const char* const attributes[] = {"speed", "dev_port", "phys_port_name", "ifindex"};
  for (int round = 0; round < 30; ++round) {
    FakeHost host;
    host.card("eth0", kPort, "10.0.0.1/24", 1);
    for (const char* attribute : attributes) {
      std::string text(random() % 300, ' ');
      for (char& c : text) c = random() % 8 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
      if (random() % 2) host.put(std::string("class/net/eth0/") + attribute, text);
      if (random() % 2) host.put(std::string("devices/") + kPort + "/numa_node", text);
    }
    survey_rails({}, host);
  }
}

}  // namespace
}  // namespace railweave::discovery
