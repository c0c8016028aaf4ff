#include "common/free_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace railweave::perf {
namespace {

constexpr std::size_t kGiB = std::size_t(1) << 30;

class FreeMemory : public testing::Test {
 protected:
  FreeMemory() {
    EXPECT_NE(nullptr, ::mkdtemp(root_.data()));
    put("/proc/meminfo", "MemTotal: 99999999 kB\nMemAvailable:   16777216 kB\n");
  }
  ~FreeMemory() override { std::filesystem::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void put_group(const std::string& folder, const std::string& limit, std::size_t usage) const {
    put(folder + "/memory.max", limit + "\n");
    put(folder + "/memory.current", std::to_string(usage) + "\n");
  }
  std::size_t free_bytes() const { return free_memory_bytes(root_); }

 private:
  std::string root_ = "/tmp/rw-memory-XXXXXX";
};

TEST_F(FreeMemory, is_what_the_machine_has_where_there_is_no_group) { EXPECT_EQ(16 * kGiB, free_bytes()); }

TEST_F(FreeMemory, is_what_the_tightest_group_leaves) {
  put("/proc/self/cgroup", "0::/job/step\n");
  put_group("/sys/fs/cgroup/job", std::to_string(4 * kGiB), kGiB);
  put_group("/sys/fs/cgroup/job/step", "max", kGiB);
  EXPECT_EQ(3 * kGiB, free_bytes());
  put_group("/sys/fs/cgroup/job/step", std::to_string(2 * kGiB), kGiB);
  EXPECT_EQ(kGiB, free_bytes());
  put("/sys/fs/cgroup/job/step/memory.stat", "anon 1\ninactive_file " + std::to_string(kGiB / 2) + "\n");
  EXPECT_EQ(kGiB + kGiB / 2, free_bytes());
  put_group("/sys/fs/cgroup/job/step", "1000", kGiB);
  EXPECT_EQ(0u, free_bytes());
}

// In a container the group's own folder is mounted as the root, whatever path /proc/self/cgroup names.
TEST_F(FreeMemory, knows_a_containers_group_and_version_1) {
  put("/proc/self/cgroup", "5:cpu:/\n4:memory:/docker/0123\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(4 * kGiB));
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(kGiB));
  EXPECT_EQ(3 * kGiB, free_bytes());
}

TEST_F(FreeMemory, nonsense_is_no_limit) {
  put("/proc/self/cgroup", "\n0\n:::\n0::\n0::no/path\n");
  put("/proc/meminfo", "MemAvailable:\n");
  EXPECT_GT(free_bytes(), SIZE_MAX / 2);
}

}  // namespace
}  // namespace railweave::perf
