// NCCL_SOCKET_IFNAME: a comma list of interface name prefixes. '^' in front excludes what matches, '=' asks for whole
// names, "^=" both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::discovery {

class NameList {
 public:
  // As NCCL reads it, with what it lets slip made good: one-letter names count, blanks around names do not, and
  // "^docker,^lo" excludes both. ":port" behind a name is accepted and ignored, as there. Errors (invalid_config): a
  // list without names; '^' or '=' inside a list that did not begin with it.
  static Result<NameList> parse(std::string_view text);

  bool excludes() const { return excludes_; }
  bool matches(std::string_view name) const;     // an item of the list fits, whatever that means for the interface
  bool spells_out(std::string_view name) const;  // an item is exactly this name

 private:
  bool excludes_ = false, exact_ = false;
  std::vector<std::string> items_;
};

}  // namespace railweave::discovery
