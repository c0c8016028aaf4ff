// nccl_tests: runs GoogleTest, or one rank of a job between two hosts, or, if a test started it, the test's second
// process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/nccl/failure.h"
#include "tests/nccl/job.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"

namespace railweave::nccl_test {
namespace {

Options the_options;

std::string default_plugin() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (here.parent_path() / "lib" / "libnccl-net-railweave.so").string();
}

// Chooses two lanes over loopback in place of two rails, unless the environment chooses interfaces.
void default_environment() {
  if (std::getenv("NCCL_SOCKET_IFNAME") || std::getenv("RAILWEAVE_RAILS")) return;
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("RAILWEAVE_LANES_PER_RAIL", "2", 0);
}

int play(const std::string& role, int channel_fd, const std::string& argument) {
  Channel channel{OwnedFd(channel_fd)};
  try {
    return roles().at(role)(channel, argument);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "role %s: %s\n%s", role.c_str(), failure.what(), warnings_text().c_str());
    return 1;
  }
}

// Prints the plugin's log lines after a failed test.
class TellsWarnings : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    for (const LogLine& line : captured_log()) std::printf("  plugin: %s\n", line.text.c_str());
  }
};

}  // namespace

const Options& options() { return the_options; }

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  CLI::App app{"Plays NCCL's proxy against a net plugin, through its tables."};
  app.footer(
      "Without --job: GoogleTest; all --gtest_* options apply. Without NCCL_SOCKET_IFNAME the tests run over lo.");
  std::string role, argument;
  int channel = -1;
  bool job = false, outage = false;
  the_options.plugin = default_plugin();
  app.add_option("--plugin", the_options.plugin, "library under test")->capture_default_str();
  app.add_option("--leaves", the_options.leaves, "how often a peer leaves right after its last test");
  app.add_flag("--job", job, "run one of two ranks; RANK, MASTER_ADDR and MASTER_PORT choose it (tools/lab sets them)");
  app.add_flag("--outage", outage, "with --job: run until nothing arrives any more, then abort");
  app.add_option("--wire", the_options.wire, "with --job: fail if a lane goes by another wire, which is not TCP");
  app.add_option("--role", role, "used by the tests: role of the second process");
  app.add_option("--argument", argument, "used by the tests: argument of the role");
  app.add_option("--channel", channel, "used by the tests: descriptor of the channel to the test");
  CLI11_PARSE(app, argc, argv);
  default_environment();
  testing::UnitTest::GetInstance()->listeners().Append(new TellsWarnings);
  if (job) return outage ? run_job_into_an_outage() : run_job();
  return role.empty() ? RUN_ALL_TESTS() : play(role, channel, argument);
}

}  // namespace railweave::nccl_test

int main(int argc, char** argv) { return railweave::nccl_test::run(argc, argv); }
