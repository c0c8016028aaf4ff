// Reads values of a hand-written JSON document. Every error says where, what was found and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// A JSON object. REQUIRES: the document outlives the reader. `where` names the object in errors: "step.json:
// layers[3]".
class JsonReader {
 public:
  static constexpr double kBytesMost = 1ull << 50, kSecondsMost = 1e5;

  static Result<JsonReader> of(const nlohmann::json& value, std::string where);

  bool has(const char* key) const { return value_->contains(key); }
  // Refuses any other key, so that a misspelt key does not silently mean the default.
  Status only(std::initializer_list<const char*> keys) const;
  Result<double> number(const char* key, double least, double most) const;
  // Takes 8e9 and refuses 8.9. `most` is at most 2^53.
  Result<std::int64_t> whole(const char* key, double least, double most) const;
  Result<std::size_t> bytes(const char* key) const;  // from 0 to kBytesMost
  Result<Nanos> seconds(const char* key) const;      // from 0 to kSecondsMost
  Result<bool> flag(const char* key) const;
  Result<std::string> text(const char* key) const;
  Result<std::string> some_text(const char* key) const;  // not empty
  Result<JsonReader> object(const char* key) const;
  Result<std::vector<JsonReader>> objects(const char* key) const;  // a list of at least one
  std::vector<std::string> keys() const;
  // Returns invalid_argument with the value that was found at `key`.
  Status wrong(const std::string& key, const std::string& expected) const;

 private:
  JsonReader(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const nlohmann::json* value_;
  std::string where_;
};

// Errors: system if the file cannot be read; invalid_argument for a folder, for text that is no JSON (with its line),
// and for nesting that no file of ours needs.
Result<nlohmann::json> read_json(const std::string& path);
Result<nlohmann::json> parse_json(const std::string& text, const std::string& where);

}  // namespace railweave::perf::fsdp_replay
