// Fuzzes the discovery of rails: a host whose sysfs files, links and names hold what the input says.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "discovery/rails.h"
#include "discovery/sysfs.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/input.h"

using railweave::fuzz::check;
using railweave::fuzz::Input;
using namespace railweave;
using namespace railweave::discovery;

namespace {

constexpr int kLinks = 3;
constexpr const char* kPci[kLinks] = {"pci0000:5d/0000:5e:00.0", "pci0000:5d/0000:5e:00.1",
                                      "pci0000:5d/0000:5e:01.0/virtio1"};
constexpr std::array kAttributes{"ifindex", "speed", "dev_port", "phys_port_name"};
constexpr std::array kKinds{"", "veth", "vlan", "bond", "bridge", "tun", "dummy", "vrf", "macvlan", "wireguard"};

// A sysfs tree, made once for all inputs: a card, its virtual function, and a virtio card.
class Tree {
 public:
  Tree() {
    check(mkdtemp(root_.data()) != nullptr, "a temporary folder");
    for (int i = 0; i < kLinks; ++i) {
      std::filesystem::create_directories(root_ + "/devices/" + kPci[i]);
      std::filesystem::create_directories(net(i));
      std::filesystem::create_directory_symlink(root_ + "/devices/" + kPci[i], net(i) + "/device");
    }
    std::filesystem::create_directory_symlink(root_ + "/devices/" + kPci[0], root_ + "/devices/" + kPci[1] + "/physfn");
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  const std::string& root() const { return root_; }
  static std::string name(int i) { return "eth" + std::to_string(i); }
  std::string net(int i) const { return root_ + "/class/net/" + name(i); }
  std::string node(int i) const { return root_ + "/devices/" + kPci[i] + "/numa_node"; }

 private:
  std::string root_ = "/tmp/rw-fuzz-XXXXXX";
};

void write(const std::string& path, std::string_view text) {
  const OwnedFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  check(fd && ::write(fd.get(), text.data(), text.size()) == ssize_t(text.size()), "the file can be written");
}

// Returns a short text, mostly of characters that such files contain.
std::string text_of(Input& in) {
  constexpr std::string_view kAlphabet = "0123456789-+ \n\tpfvsc#x.:/eE,^=ha";
  std::string text(in.below(24), ' ');
  if (in.u8() == 0xff) text.resize(300, '7');
  for (char& c : text) {
    const std::uint8_t b = in.u8();
    c = b < 224 ? kAlphabet[b % kAlphabet.size()] : char(b);
  }
  return text;
}

class Host final : public HostView {
 public:
  Host(const Tree& tree, Input& in) : root_(tree.root()) {
    for (int i = 0; i < kLinks; ++i) add(tree, i, in);
  }
  std::string sysfs_root() const override { return root_; }
  std::string procfs_root() const override { return root_; }
  std::string etc_root() const override { return root_; }
  Result<std::vector<LinkFacts>> links() const override { return links_; }
  Result<std::vector<AddressFacts>> addresses() const override { return addresses_; }
  TimePoint now() const override { return now_; }
  void sleep(Nanos time) const override { now_ += time + std::chrono::milliseconds(400); }  // fewer polls

 private:
  void add(const Tree& tree, int i, Input& in) {
    const std::uint8_t facts = in.u8();
    LinkFacts link;
    link.name = facts & 1 ? text_of(in) : Tree::name(i);
    link.ifindex = i + 1;
    link.up = !(facts & 2);
    link.running = !(facts & 4);
    link.loopback = (facts & 24) == 24;
    link.kind = facts & 32 ? kKinds[in.below(kKinds.size())] : "";
    link.master = facts & 64 ? int(in.below(kLinks + 2)) : 0;
    link.lower = facts & 128 ? int(in.below(kLinks + 2)) : 0;
    links_.push_back(link);
    AddressFacts address;
    address.ifindex = in.below(4) == 0 ? 9 : i + 1;
    address.address.family = in.u8() & 1 ? Address::Family::v6 : Address::Family::v4;
    for (std::uint8_t& b : address.address.bytes) b = in.u8();
    address.address.prefix_bits = std::uint8_t(in.below(address.address.family == Address::Family::v4 ? 33 : 129));
    address.tentative = in.u8() == 1;
    addresses_.push_back(address);
    for (const char* attribute : kAttributes)
      write(tree.net(i) + "/" + attribute, in.u8() & 1                   ? text_of(in)
                                           : attribute == kAttributes[0] ? std::to_string(i + 1)
                                                                         : "");
    write(tree.node(i), text_of(in));
  }

  const std::string root_;
  std::vector<LinkFacts> links_;
  std::vector<AddressFacts> addresses_;
  mutable TimePoint now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const Tree tree;
  Input in(data, size);
  const Host host(tree, in);
  const Sysfs sysfs(tree.root());
  for (int i = 0; i < kLinks; ++i) {
    const std::string dir = "/sys/class/net/" + Tree::name(i);
    const std::optional<std::string> text = sysfs.text(dir + "/speed");
    check(!text || text->size() <= 256, "a text is short");
    check(!text || text->find('\n') == text->npos, "a text is one line");
    (void)sysfs.number(dir + "/speed");
  }
  Config config;
  if (in.u8() & 1) config.interfaces = text_of(in);
  if (in.u8() & 1) config.rails = {text_of(in), Tree::name(int(in.below(kLinks)))};
  const Survey survey = survey_rails(config, host);
  check(survey.status.ok() == !survey.found.taken.empty(), "rails, or why there are none");
  check(survey.status.ok() || !survey.status.message().empty(), "the message says why");
  check(survey.found.considered.size() <= kLinks, "every interface once");
  for (const Rail& rail : survey.found.taken) {
    check(rail.speed.bytes_per_s > 0 && rail.speed.megabits() <= 10'000'000, "a speed that can be");
    check(rail.numa_node >= -1 && rail.numa_node <= 4095, "a NUMA node that can be");
  }
  return 0;
}
