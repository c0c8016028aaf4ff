#include "common/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/fd.h"

namespace railweave::perf {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "output-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in(const char* name) const { return (folder_ / name).string(); }
  std::string text_of(const std::string& path) const {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  long files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
  void expect_refused(const std::string& path) const {
    for (const Status& status : {check_output_file(path), write_output_file(path, "x")}) {
      ASSERT_FALSE(status.ok()) << path;
      EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
    }
  }

  fs::path folder_;
};

TEST_F(OutputFile, one_that_is_not_there_and_one_that_is) {
  const std::string path = in("r.json");
  EXPECT_TRUE(check_output_file(path).ok());
  EXPECT_EQ(files(), 0);
  for (const char* const text : {"longer", "text"}) {
    ASSERT_TRUE(write_output_file(path, text).ok());
    EXPECT_EQ(text_of(path), text);
  }
  EXPECT_TRUE(check_output_file(path).ok());
  EXPECT_EQ(text_of(path), "text");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, a_link_stays_one) {
  fs::create_symlink(in("target"), in("link"));
  std::ofstream(in("target")) << "before";
  ASSERT_TRUE(write_output_file(in("link"), "after").ok());
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(text_of(in("target")), "after");
}

TEST_F(OutputFile, what_cannot_be_one_is_refused_and_leaves_nothing) {
  fs::create_directory(in("folder"));
  expect_refused(in("folder"));
  expect_refused(in("nowhere/r.json"));
  EXPECT_EQ(files(), 1);
  EXPECT_TRUE(fs::is_empty(in("folder")));
  EXPECT_FALSE(check_output_file("").ok());
}

TEST_F(OutputFile, a_device_is_written_to_and_stays) {
  // A full device of our own if the test may make one: with these rights a fault could harm the machine's /dev/full.
  const bool made = ::mknod(in("full").c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0;
  const std::string device = made ? in("full") : "/dev/full";
  EXPECT_TRUE(check_output_file(device).ok());
  const Status full = write_output_file(device, "x");
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.message().find(device), std::string::npos) << full.message();
  EXPECT_TRUE(fs::is_character_file(device));
}

TEST_F(OutputFile, a_pipe_by_its_name_and_by_its_number) {
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  EXPECT_TRUE(check_output_file(in("pipe")).ok());
  std::string read;
  std::thread reader([&] { read = text_of(in("pipe")); });
  EXPECT_TRUE(write_output_file(in("pipe"), "through").ok());
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(in("pipe")));

  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const OwnedFd from(ends[0]), to(ends[1]);
  EXPECT_FALSE(check_output_file("/dev/fd/" + std::to_string(from.get())).ok());
  const std::string name = "/dev/fd/" + std::to_string(to.get());
  EXPECT_TRUE(check_output_file(name).ok());
  ASSERT_TRUE(write_output_file(name, "four").ok());
  char got[8] = "";
  EXPECT_EQ(::read(from.get(), got, sizeof got), 4);
  EXPECT_STREQ(got, "four");
}

}  // namespace
}  // namespace railweave::perf
