#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/gid_table.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

namespace railweave::wire::verbs {
namespace {

namespace fs = std::filesystem;

// None: the file cannot be read. The kernel answers EINVAL for the type of an empty slot.
std::optional<std::string> read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

// Returns the numbers that name entries of the folder, in ascending order.
std::vector<std::uint32_t> numbers_in(const fs::path& folder) {
  std::vector<std::uint32_t> numbers;
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    std::uint32_t number = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (bad == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::optional<GidEntry> read_slot(const fs::path& port_folder, std::uint32_t port, std::uint32_t index) {
  const std::string slot = std::to_string(index);
  const auto interface = read_line(port_folder / "gid_attrs/ndevs" / slot);
  const auto type = read_line(port_folder / "gid_attrs/types" / slot);
  const auto text = read_line(port_folder / "gids" / slot);
  GidEntry entry;
  if (!interface || !type || !text || ::inet_pton(AF_INET6, text->c_str(), entry.gid.data()) != 1) return std::nullopt;
  entry.port = port;
  entry.index = index;
  entry.is_roce_v2 = *type == "RoCE v2";
  entry.ifindex = int(::if_nametoindex(interface->c_str()));
  return entry;
}

std::vector<GidEntry> read_gid_table_of_library(const Api& api, ibv_context* context) {
  // A device has some hundred slots at most. A call that fails tells of a device that is gone.
  std::vector<ibv_gid_entry> raw(1024);
  const ssize_t count = api.query_gid_table(context, raw.data(), raw.size(), 0, sizeof raw[0]);
  std::vector<GidEntry> table;
  for (ssize_t i = 0; i < count; ++i) {
    GidEntry& entry = table.emplace_back();
    std::copy_n(raw[std::size_t(i)].gid.raw, entry.gid.size(), entry.gid.begin());
    entry.port = raw[std::size_t(i)].port_num;
    entry.index = raw[std::size_t(i)].gid_index;
    entry.is_roce_v2 = raw[std::size_t(i)].gid_type == IBV_GID_TYPE_ROCE_V2;
    entry.ifindex = int(raw[std::size_t(i)].ndev_ifindex);
  }
  return table;
}

}  // namespace

std::vector<GidEntry> read_gid_table(const Api& api, ibv_context* context, const std::string& sysfs,
                                     const std::string& device) {
  return api.query_gid_table ? read_gid_table_of_library(api, context) : read_gid_table_of_sysfs(sysfs, device);
}

std::vector<GidEntry> read_gid_table_of_sysfs(const std::string& sysfs, const std::string& device) {
  std::vector<GidEntry> table;
  const fs::path ports = fs::path(sysfs) / device / "ports";
  for (const std::uint32_t port : numbers_in(ports)) {
    const fs::path folder = ports / std::to_string(port);
    for (const std::uint32_t index : numbers_in(folder / "gid_attrs/ndevs"))
      if (const auto entry = read_slot(folder, port, index)) table.push_back(*entry);
  }
  return table;
}

}  // namespace railweave::wire::verbs
#endif
