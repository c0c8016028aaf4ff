// The table of libibverbs: which symbols it needs, and what is said where one is missing.
#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/library.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/wire/fake_verbs.h"
#include "wire/verbs/wire.h"

namespace railweave::wire::verbs {
namespace {

int some_function() { return 0; }
void* found() { return reinterpret_cast<void*>(&some_function); }

TEST(VerbsLibrary, only_the_two_first_versions_are_required) {
  std::set<std::string> versions;
  const auto api = bind_api([&](const char*, const char* version) {
    versions.insert(version);
    return version == std::string("IBVERBS_1.1") || version == std::string("IBVERBS_1.0") ? found() : nullptr;
  });
  ASSERT_TRUE(api.ok()) << api.status().message();
  EXPECT_EQ(versions, (std::set<std::string>{"IBVERBS_1.0", "IBVERBS_1.1", "IBVERBS_1.11", "IBVERBS_1.13"}));
  EXPECT_EQ(api.value().query_gid_table, nullptr);
  EXPECT_EQ(api.value().is_fork_initialized, nullptr);
}

TEST(VerbsLibrary, each_missing_symbol_is_named) {
  std::set<std::string> required;
  (void)bind_api([&](const char* symbol, const char* version) {
    if (version == std::string("IBVERBS_1.1") || version == std::string("IBVERBS_1.0")) required.insert(symbol);
    return found();
  });
  EXPECT_GE(required.size(), 25u);
  for (const std::string& hole : required) {
    const auto api = bind_api([&](const char* symbol, const char*) { return symbol == hole ? nullptr : found(); });
    ASSERT_FALSE(api.ok()) << hole;
    EXPECT_EQ(api.status().code(), Code::invalid_config);
    EXPECT_NE(api.status().message().find("libibverbs.so.1 has no symbol " + hole + " of version IBVERBS_1."),
              std::string::npos)
        << api.status().message();
    EXPECT_NE(api.status().message().find("install the packages"), std::string::npos);
  }
}

TEST(VerbsLibrary, fork_support_is_asked_for_unless_it_is_unneeded) {
  FakeVerbs fake;
  Api api = fake.api();
  api.is_fork_initialized = [] { return IBV_FORK_UNNEEDED; };
  prepare_for_fork(api);
  EXPECT_EQ(fake.counts().forks, 0);
  api.is_fork_initialized = [] { return IBV_FORK_DISABLED; };
  prepare_for_fork(api);
  api.is_fork_initialized = nullptr;
  prepare_for_fork(api);
  EXPECT_EQ(fake.counts().forks, 2);
}

// A host without the library or without a device refuses by name; only a host with a device opens a port.
TEST(VerbsLibrary, a_rail_without_device_has_no_port) {
  Rail rail;
  rail.name = "no such rail";
  rail.addresses = {Address{}};
  const auto port = verbs_wire().open(&rail, Config{});
  ASSERT_FALSE(port.ok());
  EXPECT_EQ(port.status().code(), Code::invalid_config) << port.status().message();
}

}  // namespace
}  // namespace railweave::wire::verbs
#endif
