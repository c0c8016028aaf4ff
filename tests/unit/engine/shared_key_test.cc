#include "engine/admission/shared_key.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "base/fd.h"
#include "tests/engine/key_file.h"

namespace railweave::engine {
namespace {

using engine_test::KeyFile;

std::string why_not(const std::string& path) {
  const Result<SharedKey> key = SharedKey::read(path);
  if (key.ok()) return "it was read";
  EXPECT_EQ(key.status().code(), Code::invalid_config);
  EXPECT_EQ(key.status().scope(), Scope::engine);
  const std::string start = "RAILWEAVE_KEY_FILE=" + path + ": ", message = key.status().message();
  EXPECT_EQ(message.substr(0, start.size()), start) << message;
  return message.substr(std::min(start.size(), message.size()));
}

bool equal(const std::string& a, const std::string& b) {
  const KeyFile one(a), two(b);
  const Result<SharedKey> first = SharedKey::read(one.path()), second = SharedKey::read(two.path());
  EXPECT_TRUE(first.ok() && second.ok());
  return first.ok() && second.ok() && same(first.value().secret().bytes(), second.value().secret().bytes());
}

TEST(SharedKey, keys_of_the_same_content_are_the_same) {
  const std::string text(32, 'k');
  EXPECT_TRUE(equal(text, text));
  EXPECT_FALSE(equal(text, text + "k"));
  EXPECT_FALSE(equal(text, std::string(31, 'k') + "j"));
}

TEST(SharedKey, one_newline_at_the_end_does_not_count) {
  const std::string text(32, 'k');
  EXPECT_TRUE(equal(text, text + "\n"));
  EXPECT_FALSE(equal(text, text + "\n\n"));
  EXPECT_FALSE(equal(text, text + "\r\n"));
  EXPECT_FALSE(equal(text, text + " "));
  EXPECT_FALSE(equal(std::string(16, '\0'), std::string(17, '\0')));
}

TEST(SharedKey, a_key_has_16_to_4096_bytes) {
  for (const std::size_t bytes : {16, 17, 64, 65, 4096}) {
    const KeyFile file(std::string(bytes, 'k'));
    EXPECT_TRUE(SharedKey::read(file.path()).ok()) << bytes;
    const KeyFile with_newline(std::string(bytes, 'k') + "\n");
    EXPECT_TRUE(SharedKey::read(with_newline.path()).ok()) << bytes;
  }
  constexpr char kRest[] = " bytes (a newline at the end does not count), expected 16 to 4096";
  EXPECT_EQ(why_not(KeyFile("").path()), std::string("0") + kRest);
  EXPECT_EQ(why_not(KeyFile("\n").path()), std::string("0") + kRest);
  EXPECT_EQ(why_not(KeyFile("fifteen bytes..\n").path()), std::string("15") + kRest);
  EXPECT_EQ(why_not(KeyFile(std::string(4097, 'k')).path()), std::string("more than 4096") + kRest);
  EXPECT_EQ(why_not(KeyFile(std::string(4097, 'k') + "\n").path()), std::string("more than 4096") + kRest);
  EXPECT_EQ(why_not(KeyFile(std::string(100'000, 'k')).path()), std::string("more than 4096") + kRest);
}

TEST(SharedKey, a_file_open_to_group_or_others_is_refused) {
  for (const mode_t mode : {0600, 0400, 0700})
    EXPECT_TRUE(SharedKey::read(KeyFile(engine_test::kSomeKey, mode).path()).ok()) << mode;
  for (const mode_t mode : {0604, 0610, 0601, 0620, 0602, 0660, 0650, 0644, 0444}) {
    char octal[8];
    std::snprintf(octal, sizeof octal, "%04o", unsigned(mode));
    const KeyFile file(engine_test::kSomeKey, mode);
    EXPECT_EQ(why_not(file.path()),
              std::string("mode ") + octal + ", expected nothing for group and others (chmod 600)");
  }
}

TEST(SharedKey, a_path_without_a_regular_file_is_an_error_at_once) {
  EXPECT_EQ(why_not("/nowhere/at/all"),
            "open: No such file or directory (errno 2); expected a file with a key that this process may read, and "
            "nobody else (chmod 600)");
  EXPECT_EQ(why_not("/tmp"), "found a directory, expected a regular file");
  EXPECT_EQ(why_not("/dev/zero"), "found a device, expected a regular file");
  const KeyFile place;  // its path is unique
  const std::string pipe = place.path() + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(why_not(pipe), "found a pipe, expected a regular file");
  unlink(pipe.c_str());
  const std::string socket_path = place.path() + ".sock";
  const OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket_path.copy(address.sun_path, sizeof address.sun_path - 1), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(why_not(socket_path), "found a socket, expected a regular file");
  unlink(socket_path.c_str());
}

TEST(SharedKey, a_link_to_a_file_is_that_file) {
  const KeyFile file;
  const std::string link = file.path() + ".link";
  ASSERT_EQ(symlink(file.path().c_str(), link.c_str()), 0);
  EXPECT_TRUE(SharedKey::read(link).ok());
  unlink(link.c_str());
}

TEST(SharedKey, a_key_of_another_user_is_not_taken) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const KeyFile file;
  ASSERT_EQ(chown(file.path().c_str(), 1, 1), 0);
  EXPECT_EQ(why_not(file.path()), "owned by user 1, expected our own, 0, or root");
  const pid_t child = fork();
  if (child == 0) _exit(setuid(1) == 0 && SharedKey::read(file.path()).ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "its owner may";
}

// A pod that is not root: user 1000, group 1000, and the supplementary group 2000, which is the pod's fsGroup.
int run_as_a_pod(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    const gid_t group = 2000;
    _exit(setgroups(1, &group) == 0 && setgid(1000) == 0 && setuid(1000) == 0 && check() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(SharedKey, a_secret_of_kubernetes_is_read_by_a_pod_that_is_not_root) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  for (const uid_t owner : {0u, 1000u, 3000u}) {
    for (const gid_t group : {0u, 1000u, 2000u, 3000u}) {
      for (const mode_t mode : {0400, 0600, 0040, 0440, 0640, 0441, 0444, 0450, 0460, 0470, 0404}) {
        const KeyFile file(engine_test::kSomeKey, mode);
        ASSERT_EQ(chown(file.path().c_str(), owner, group), 0);
        const bool in_group = group == 1000 || group == 2000;
        const bool may_open = owner == 1000 ? (mode & 0400) != 0 : (mode & (in_group ? 040 : 04)) != 0;
        const bool is_private = owner == 1000 ? (mode & 077) == 0 : owner == 0 && (mode & 077) == 040 && in_group;
        const bool expected = may_open && is_private;
        EXPECT_EQ(run_as_a_pod([&] { return SharedKey::read(file.path()).ok() == expected; }), 0)
            << "owner " << owner << ", group " << group << ", mode " << std::oct << mode << ", expected " << expected;
      }
    }
  }
}

TEST(SharedKey, a_file_of_root_for_a_group_that_is_not_ours_is_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another group";
  const KeyFile file(engine_test::kSomeKey, 0440);
  EXPECT_TRUE(SharedKey::read(file.path()).ok()) << "root's own group";
  ASSERT_EQ(chown(file.path().c_str(), 0, 54321), 0);
  EXPECT_EQ(why_not(file.path()),
            "mode 0440 for group 54321, to which this process does not belong; expected nothing for group and others "
            "(chmod 600)");
}

}  // namespace
}  // namespace railweave::engine
