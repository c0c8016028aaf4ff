#include "discovery/name_list.h"

#include <fmt/format.h>
#include <algorithm>

namespace railweave::discovery {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool take_prefix(std::string_view& text, char sign) {
  if (text.empty() || text[0] != sign) return false;
  text = trimmed(text.substr(1));
  return true;
}

Status ill_formed(std::string_view text, std::string_view why) {
  return Status(
      Code::invalid_config, Scope::engine,
      fmt::format("NCCL_SOCKET_IFNAME={}: {} (expected a comma list of name prefixes, '^' in front to exclude, "
                  "'=' for whole names)",
                  text.substr(0, 128), why));
}

}  // namespace

Result<NameList> NameList::parse(std::string_view text) {
  NameList list;
  std::string_view rest = trimmed(text);
  list.excludes_ = take_prefix(rest, '^');
  list.exact_ = take_prefix(rest, '=');
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view item = trimmed(rest.substr(0, comma));
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    const bool repeated_hat = take_prefix(item, '^'), repeated_equals = take_prefix(item, '=');
    if ((repeated_hat && !list.excludes_) || (repeated_equals && !list.exact_)) {
      return ill_formed(text, "'^' and '=' hold for the whole list and stand once, in front of it");
    }
    item = item.substr(0, item.find(':'));
    if (!item.empty()) list.items_.emplace_back(item);
  }
  if (list.items_.empty()) return ill_formed(text, "names no interface");
  return list;
}

bool NameList::matches(std::string_view name) const {
  if (exact_) return spells_out(name);
  return std::any_of(items_.begin(), items_.end(),
                     [&](const std::string& item) { return name.substr(0, item.size()) == item; });
}

bool NameList::spells_out(std::string_view name) const {
  return std::find(items_.begin(), items_.end(), name) != items_.end();
}

}  // namespace railweave::discovery
