// raw_tcp's command line.
#pragma once

#include <string>

#include "common/load_options.h"

namespace railweave::perf::raw_tcp {

struct Options : LoadOptions {
  bool together = false, together_only = false;
  std::string rails;
  std::string recv_size_text = "0";
  std::string congestion_control = "cubic";
  int nodelay = 1;
  bool mptcp = false;  // Multipath TCP (RFC 8684); the kernel adds subflows by its endpoints
  int send_buffer = 0, receive_buffer = 0;

  std::size_t recv_size = 0;  // parsed from its text; bytes

  // Parses the texts into the fields above. Errors: invalid_argument.
  Status resolve();
};

void add_options(CLI::App& app, Options& options);

}  // namespace railweave::perf::raw_tcp
