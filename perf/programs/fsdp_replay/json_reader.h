// Values of a JSON document that a person wrote. Every error says where it looked, what it found and what it expected.
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

// An object. Lives no longer than the document. `where` names it in errors: "step.json: layers[3]".
class JsonReader {
 public:
  static constexpr double kBytesMost = 1ull << 50, kSecondsMost = 1e5;

  static Result<JsonReader> of(const nlohmann::json& value, std::string where);

  bool has(const char* key) const { return value_->contains(key); }
  // Nothing else than these keys may be there: a key that is misspelt is no default.
  Status only(std::initializer_list<const char*> keys) const;
  Result<double> number(const char* key, double least, double most) const;
  // 8e9 is one, 8.9 is none; most: up to 2^53
  Result<std::int64_t> whole(const char* key, double least, double most) const;
  Result<std::size_t> bytes(const char* key) const;  // from 0 to kBytesMost
  Result<Nanos> seconds(const char* key) const;      // from 0 to kSecondsMost
  Result<bool> flag(const char* key) const;
  Result<std::string> text(const char* key) const;
  Result<std::string> some_text(const char* key) const;  // not empty
  Result<JsonReader> object(const char* key) const;
  Result<std::vector<JsonReader>> objects(const char* key) const;  // a list of at least one
  std::vector<std::string> keys() const;
  // invalid_argument, saying what was found at `key`.
  Status wrong(const std::string& key, const std::string& expected) const;

 private:
  JsonReader(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const nlohmann::json* value_;
  std::string where_;
};

// Errors: system, for what cannot be read; invalid_argument, for a folder, what is no JSON (with its line), and what is
// deeper than any of ours.
Result<nlohmann::json> read_json(const std::string& path);
Result<nlohmann::json> parse_json(const std::string& text, const std::string& where);

}  // namespace railweave::perf::fsdp_replay
