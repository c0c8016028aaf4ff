// railweave-config-doc: prints docs/operate/configuration.md.
#include <cstdio>
#include <string_view>

#include "config_doc/page.h"

int main(int argc, char** argv) {
  constexpr char kUsage[] =
      "usage: railweave-config-doc > docs/operate/configuration.md\nPrints what every environment variable does.\n";
  const std::string_view option = argc > 1 ? argv[1] : "";
  const bool help = option == "--help" || option == "-h";
  if (argc > 1 && !help) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::fputs(help ? kUsage : railweave::perf::configuration_page().c_str(), stdout);
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return 0;
  std::perror("railweave-config-doc: standard output");
  return 1;
}
