// Which interfaces become rails. Two ways: somebody named them (named.cc), or the rules choose (automatic.cc).
#pragma once

#include <string>
#include <vector>

#include "discovery/interface.h"
#include "discovery/name_list.h"
#include "railweave/config.h"
#include "railweave/status.h"

namespace railweave::discovery {

struct Selection {
  std::vector<std::size_t> taken;    // indices of interfaces, in rail order
  std::vector<std::string> reasons;  // of every interface: why taken, or why left
  bool link_pending = false;         // one that would be taken is up and has no carrier yet
  bool address_pending = false;      // one that would be taken waits for IPv6 duplicate detection
  bool better_pending = false;       // ... and would push out what is taken now
};

// Errors: invalid_config (ill-formed list, or one that names what does not exist; the message lists what does).
// No usable interface is no error here: `taken` is empty then.
Result<Selection> select(const Config& config, const std::vector<Interface>& all);

// The two ways. REQUIRES: config.rails not empty / an including list / an excluding list or null.
Result<Selection> select_rails(const std::vector<std::string>& names, const std::vector<Interface>& all);
Result<Selection> select_listed(const NameList& list, const std::string& text, const std::vector<Interface>& all);
Selection select_automatic(const NameList* excluded, const std::vector<Interface>& all);

// Why it cannot carry traffic at all: "down", "no carrier", "no address"... Empty: it can.
std::string unusable(const Interface& interface);

// Notes in `selection` what a named or otherwise chosen interface that is unusable may be waiting for.
void note_pending(const Interface& interface, Selection& selection);

// PCI path, then name ("eth2" before "eth10"); interfaces without a PCI path last. The same on every start of a host.
bool rail_order(const Interface& a, const Interface& b);

// "a, b and 3 more": at most about `bytes_max` long.
std::string list_names(const std::vector<Interface>& all, std::size_t bytes_max = 400);

}  // namespace railweave::discovery
