#include "base/address_text.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

namespace railweave {

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(address.family == Address::Family::v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  if (address.scope_id == 0) return text;
  char name[IF_NAMESIZE] = "";
  if (::if_indextoname(address.scope_id, name)) return fmt::format("{}%{}", text, name);
  return fmt::format("{}%{}", text, address.scope_id);
}

Address without_scope(Address address) {
  address.scope_id = 0;
  return address;
}

}  // namespace railweave
