#include "engine/stats/stats_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <thread>

#include "engine/stats/stats_client.h"
#include "engine/stats/stats_socket.h"

namespace railweave::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kInstance[] = "0123456789abcdef0123456789abcdef";

class StatsServerTest : public testing::Test {
 protected:
  StatsServerTest() {
    std::string name = "/tmp/rw-stats-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name.data()));
    dir_ = name;
  }
  ~StatsServerTest() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<StatsServer> open() const {
    Result<std::unique_ptr<StatsServer>> server = StatsServer::open(dir_, kInstance);
    EXPECT_TRUE(server.ok()) << server.status().message();
    return server.ok() ? std::move(server.value()) : nullptr;
  }

  // Asks on another thread, while this thread serves one client.
  static Result<EngineStats> ask(StatsServer& server, const EngineStats& stats) {
    Result<EngineStats> answer(EngineStats{});
    std::thread client([&] { answer = fetch_stats(server.path(), seconds(5)); });
    pollfd waiting{server.descriptor(), POLLIN, 0};
    EXPECT_EQ(1, ::poll(&waiting, 1, 5000));
    EXPECT_TRUE(server.serve([&] { return stats; }).ok());
    client.join();
    return answer;
  }

  std::string dir_;
};

EngineStats stats_of_lanes(std::size_t lanes) {
  EngineStats stats;
  stats.instance = kInstance;
  stats.sessions.resize(1);
  stats.sessions[0].lanes.resize(lanes);
  return stats;
}

TEST_F(StatsServerTest, stats_are_served_to_this_user_only) {
  const auto server = open();
  EXPECT_EQ(dir_ + "/railweave-" + std::to_string(::getpid()) + "-01234567.sock", server->path());
  EXPECT_EQ(::getpid(), pid_in_name(server->path()));
  struct stat file;
  ASSERT_EQ(0, ::stat(server->path().c_str(), &file));
  EXPECT_EQ(0600u, file.st_mode & 0777u);
  EXPECT_EQ(FD_CLOEXEC, ::fcntl(server->descriptor(), F_GETFD));
  const Result<EngineStats> answer = ask(*server, stats_of_lanes(2));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(kInstance, answer.value().instance);
  EXPECT_EQ(2u, answer.value().sessions[0].lanes.size());
}

TEST_F(StatsServerTest, stats_of_a_great_many_lanes_are_served) {
  const auto server = open();
  const Result<EngineStats> answer = ask(*server, stats_of_lanes(3'000));  // some 900 KB, beyond any socket buffer
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(3'000u, answer.value().sessions[0].lanes.size());
}

TEST_F(StatsServerTest, serve__no_client_and_one_that_left_do_not_block) {
  const auto server = open();
  EXPECT_TRUE(server->serve([] { return EngineStats{}; }).ok());
  const Result<pid_t> owner = stats_owner(server->path());  // connects and closes
  ASSERT_TRUE(owner.ok());
  EXPECT_EQ(::getpid(), owner.value());
  EXPECT_TRUE(server->serve([] { return EngineStats{}; }).ok());
  EXPECT_TRUE(server->serve([] { return EngineStats{}; }).ok());
  EXPECT_TRUE(ask(*server, {}).ok());
}

TEST_F(StatsServerTest, serve__stats_are_not_gathered_when_there_is_no_descriptor) {
  const auto server = open();
  ASSERT_TRUE(stats_owner(server->path()).ok());  // a client waits
  rlimit before;
  ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before));
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &none));
  bool asked = false;
  const Status served = server->serve([&] { return asked = true, EngineStats{}; });
  ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before));
  EXPECT_EQ(EMFILE, served.system_errno());
  EXPECT_FALSE(asked);
  EXPECT_TRUE(server->serve([] { return EngineStats{}; }).ok());
}

TEST_F(StatsServerTest, a_process_that_does_not_answer_is_given_up) {
  const auto server = open();
  EXPECT_EQ(Code::timed_out, fetch_stats(server->path(), milliseconds(30)).status().code());
  EXPECT_EQ(ENOENT, fetch_stats(dir_ + "/railweave-1-2.sock", milliseconds(30)).status().system_errno());
}

TEST_F(StatsServerTest, the_socket_goes_with_its_server_and_not_with_a_child) {
  auto server = open();
  const std::string path = server->path();
  const pid_t child = ::fork();
  if (child == 0) {
    server.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_TRUE(std::filesystem::exists(path));
  server.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StatsServerTest, stale_sockets_are_removed_and_others_are_not) {
  const std::string stale = stats_socket_path(dir_, 1, "aaaaaaaa"), young = stats_socket_path(dir_, 2, "bbbbbbbb"),
                    plain = stats_socket_path(dir_, 3, "cccccccc"), live = stats_socket_path(dir_, 4, "dddddddd");
  std::vector<OwnedFd> sockets;
  for (const std::string& path : {stale, young, live}) {
    sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM, 0));
    const sockaddr_un address = socket_address(path).value();
    ASSERT_EQ(0, ::bind(sockets.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  }
  OwnedFd(::open(plain.c_str(), O_CREAT | O_WRONLY, 0600));
  sockets[0].reset();
  sockets[1].reset();
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  for (const std::string& path : {stale, plain, live}) ASSERT_EQ(0, ::utimensat(AT_FDCWD, path.c_str(), old, 0));
  const auto server = open();
  EXPECT_EQ((std::vector<std::string>{young, plain, live}), [&] {
    std::vector<std::string> left = stats_sockets(dir_);
    std::erase(left, server->path());
    return left;
  }());
}

TEST_F(StatsServerTest, a_directory_that_will_not_do_is_an_error_and_no_more) {
  EXPECT_EQ(ENOENT, StatsServer::open(dir_ + "/none", kInstance).status().system_errno());
  const Status too_long = StatsServer::open("/tmp/" + std::string(120, 'x'), kInstance).status();
  EXPECT_EQ(Code::invalid_config, too_long.code());
  EXPECT_NE(too_long.message().npos, too_long.message().find("RAILWEAVE_STATS_DIR"));
  constexpr int kGreatestPid = 4194304;
  const std::string longest = "/" + std::string(74, 'x');  // the longest path that the configuration accepts
  EXPECT_TRUE(socket_address(stats_socket_path(longest, kGreatestPid, kInstance)).ok());
  EXPECT_FALSE(socket_address(stats_socket_path(longest + "x", kGreatestPid, kInstance)).ok());
  EXPECT_TRUE(stats_sockets("/none").empty());
  EXPECT_EQ(0, pid_in_name("/tmp/railweave-x.sock"));
}

}  // namespace
}  // namespace railweave::engine
