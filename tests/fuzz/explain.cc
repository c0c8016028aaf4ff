// Fuzzes `railweave explain`: the input is the dumps of a job, one after the other, with a zero byte between them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/dump_reader.h"
#include "explain/explanation.h"
#include "info/process_report.h"
#include "tests/fuzz/check.h"

using railweave::fuzz::check;
using namespace railweave::explain;

namespace {
bool harmless(char c) { return c == '\n' || (c >= ' ' && c <= '~'); }
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Dump> dumps;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    auto dump = parse_dump(text.substr(0, end), "x");
    if (dump.ok()) dumps.push_back(std::move(*dump));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (dumps.empty()) return 0;
  const auto job = Job::of(std::move(dumps));
  if (!job.ok()) return 0;
  const Verdict verdict = judge(job.value());
  for (const std::string& printed :
       {explanation_text(job.value(), verdict), railweave::info::json_text(explanation_json(job.value(), verdict))})
    check(!printed.empty() && std::ranges::all_of(printed, harmless), "a terminal obeys nothing of the explanation");
  return 0;
}
