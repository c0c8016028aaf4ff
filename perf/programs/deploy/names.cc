#include "deploy/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

namespace railweave::deploy {
namespace {

constexpr std::size_t kShownMax = 80;
constexpr std::size_t kImageBytesMax = 255, kSubdomainBytesMax = 253, kWordBytesMax = 4096, kNicNameBytesMax = 15;

// Shows the beginning of a text. Characters that are not visible ASCII are replaced: they may be anything.
std::string shown(const std::string& text) {
  std::string part = text.substr(0, kShownMax);
  for (char& c : part)
    if (c < ' ' || c > '~') c = '?';
  return part + (text.size() > kShownMax ? "..." : "");
}

std::string wrong(const std::string& text, const std::string& expected) {
  return fmt::format("found '{}', expected {}", shown(text), expected);
}

// The length is checked first: std::regex takes stack for each character.
bool matches(const std::string& text, std::size_t bytes_max, const std::regex& pattern) {
  return text.size() <= bytes_max && std::regex_match(text, pattern);
}

bool parse_bits(const std::string& text, std::size_t most, std::size_t& bits) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bits);
  return error == std::errc() && stop == end && bits <= most;
}

bool has_host_bits(const std::array<unsigned char, 16>& address, std::size_t prefix_bits, std::size_t all_bits) {
  for (std::size_t bit = prefix_bits; bit < all_bits; ++bit)
    if (address[bit / 8] & (0x80 >> (bit % 8))) return true;
  return false;
}

struct Subnet {
  bool v6 = false;
  std::array<unsigned char, 16> address{};
  std::size_t prefix_bits = 0;
};

std::optional<Subnet> parsed_subnet(const std::string& text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string address = text.substr(0, slash);
  Subnet subnet;
  subnet.v6 = address.find(':') != address.npos;
  const std::size_t all_bits = subnet.v6 ? 128 : 32;
  const bool well = slash < text.size() &&
                    inet_pton(subnet.v6 ? AF_INET6 : AF_INET, address.c_str(), subnet.address.data()) == 1 &&
                    parse_bits(text.substr(slash + 1), all_bits - 2, subnet.prefix_bits) && subnet.prefix_bits > 0;
  if (!well || has_host_bits(subnet.address, subnet.prefix_bits, all_bits)) return std::nullopt;
  return subnet;
}

bool same_prefix(const Subnet& a, const Subnet& b, std::size_t bits) {
  for (std::size_t bit = 0; bit < bits; ++bit)
    if ((a.address[bit / 8] ^ b.address[bit / 8]) & (0x80 >> (bit % 8))) return false;
  return true;
}

bool is_utf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace

std::string label_problem(const std::string& text, std::size_t bytes_max) {
  static const std::regex kLabel("[a-z0-9]([-a-z0-9]*[a-z0-9])?");
  if (matches(text, bytes_max, kLabel)) return {};
  return wrong(
      text,
      fmt::format("1 to {} characters of a-z, 0-9 and '-', with a letter or digit at both ends (RFC 1123)", bytes_max));
}

std::string subdomain_problem(const std::string& text) {
  static const std::regex kSubdomain("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
  if (matches(text, kSubdomainBytesMax, kSubdomain)) return {};
  return wrong(text, "labels of a-z, 0-9 and '-' with dots between them, at most 253 characters (RFC 1123)");
}

std::string resource_problem(const std::string& text) {
  static const std::regex kName("[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?");
  const std::size_t slash = text.find('/');
  const bool fits = slash != text.npos && subdomain_problem(text.substr(0, slash)).empty() &&
                    matches(text.substr(slash + 1), 63, kName);
  return fits ? "" : wrong(text, "a resource of a device plugin, such as openshift.io/rail0");
}

std::string image_problem(const std::string& text) {
  static const std::regex kImage(
      "([a-zA-Z0-9][-.a-zA-Z0-9]*(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
      "(:[A-Za-z0-9_][-.A-Za-z0-9_]{0,127})?(@sha256:[0-9a-f]{64})?");
  return matches(text, kImageBytesMax, kImage) ? "" : wrong(text, "an image, such as registry.example/team/train:1.0");
}

std::string subnet_problem(const std::string& text) {
  return parsed_subnet(text) ? "" : wrong(text, "a subnet without host bits, such as 192.168.10.0/24 or fd00:10::/64");
}

bool subnets_overlap(const std::string& a, const std::string& b) {
  const auto first = parsed_subnet(a), second = parsed_subnet(b);
  return first && second && first->v6 == second->v6 &&
         same_prefix(*first, *second, std::min(first->prefix_bits, second->prefix_bits));
}

std::string interface_problem(const std::string& text) {
  static const std::regex kInterface("[!-~]{1,15}");
  const bool fits = matches(text, kNicNameBytesMax, kInterface) && text.find_first_of("/:%") == text.npos &&
                    text != "." && text != "..";
  return fits ? "" : wrong(text, "the name of a network interface, such as ens1f0");
}

std::string word_problem(const std::string& text) {
  const bool fits = text.size() <= kWordBytesMax && is_utf8(text) &&
                    std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
  return fits ? "" : wrong(text, "at most 4096 bytes of UTF-8 without control characters");
}

}  // namespace railweave::deploy
