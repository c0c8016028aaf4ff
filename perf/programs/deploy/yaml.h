// Writes JSON values as YAML for people: blocks, not braces. Every text is read back as the same text: a text has no
// quotes only where each reader of YAML 1.1 and 1.2 takes the text for one. Threads: any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace railweave::deploy {

using Json = nlohmann::ordered_json;

// Returns `value` as one YAML document, without "---". Members keep their order. A text of several lines becomes a
// literal block ("|-") if a block can hold it. REQUIRES: texts are UTF-8.
std::string yaml_text(const Json& value);

}  // namespace railweave::deploy
