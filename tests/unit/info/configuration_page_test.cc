#include "config_doc/page.h"

#include <gtest/gtest.h>

#include <set>

#include "base/config_section.h"

namespace railweave::perf {
namespace {

TEST(ConfigurationPage, names_every_setting_once_in_its_section) {
  const std::string page = configuration_page();
  std::size_t from = 0;
  for (const ConfigSection* section : config_sections()) {
    from = page.find("\n## " + std::string(section->title) + "\n", from);
    ASSERT_NE(from, page.npos) << section->title;
    for (const Setting& setting : section->settings) {
      from = page.find("\n### " + std::string(setting.name) + "\n", from);
      ASSERT_NE(from, page.npos) << setting.name;
      EXPECT_FALSE(setting.help.empty());
    }
  }
}

// A process without the libraries must ignore exactly the variables that the libraries describe.
TEST(ConfigurationPage, sections_of_libraries_have_the_variables_that_others_ignore) {
  (void)configuration_page();  // registers all sections
  std::set<std::string_view> described;
  for (const ConfigSection* section : config_sections())
    for (const Setting& setting : section->settings)
      if (section != &engine_section()) described.insert(setting.name);
  const auto ignored = variables_of_other_libraries();
  EXPECT_EQ(described, std::set<std::string_view>(ignored.begin(), ignored.end()));
}

}  // namespace
}  // namespace railweave::perf
