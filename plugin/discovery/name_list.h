// NameList: the value of NCCL_SOCKET_IFNAME, a comma-separated list of interface name prefixes. '^' in front excludes
// the interfaces that match, '=' asks for exact names, "^=" does both. Threads: const methods any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "railweave/status.h"

namespace railweave::discovery {

class NameList {
 public:
  // Parses the list as NCCL does, but better in three cases: names of one letter count, blanks around names are
  // ignored, and "^docker,^lo" excludes both. ":port" after a name is ignored, as by NCCL. Errors: invalid_config for a
  // list without names, and for '^' or '=' inside a list that does not begin with the same sign.
  static Result<NameList> parse(std::string_view text);

  bool excludes() const { return excludes_; }
  bool matches(std::string_view name) const;     // an item matches the name, in an excluding list as well
  bool spells_out(std::string_view name) const;  // an item is exactly this name

 private:
  bool excludes_ = false, exact_ = false;
  std::vector<std::string> items_;
};

}  // namespace railweave::discovery
