#include <cstdio>
#include <string_view>

#include "base/config_doc.h"

int main(int argc, char** argv) {
  constexpr char kUsage[] =
      "usage: railweave-config-doc > docs/configuration.md\nPrints what every environment variable does.\n";
  if (argc == 1) return std::fputs(railweave::config_markdown().c_str(), stdout) < 0 ? 1 : 0;
  const std::string_view option = argv[1];
  const bool help = option == "--help" || option == "-h";
  std::fputs(kUsage, help ? stdout : stderr);
  return help ? 0 : 2;
}
