#include "fsdp_replay/json_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

using nlohmann::json;

constexpr int kDeepest = 100;  // brackets; our files have at most ten levels, and writing takes stack for each

std::string shortened(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

Status wrong_argument(std::string message) {
  return Status(Code::invalid_argument, Scope::request, std::move(message));
}

}  // namespace

Result<JsonReader> JsonReader::of(const json& value, std::string where) {
  if (!value.is_object())
    return wrong_argument(fmt::format("{}: found {}, expected an object", where, shortened(value)));
  return JsonReader(value, std::move(where));
}

Status JsonReader::wrong(const std::string& key, const std::string& expected) const {
  const std::string found = has(key.c_str()) ? shortened((*value_)[key]) : "nothing";
  return wrong_argument(fmt::format("{}: {}: found {}, expected {}", where_, key, found, expected));
}

Status JsonReader::only(std::initializer_list<const char*> keys) const {
  for (const auto& [key, value] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string known;
    for (const char* one : keys) known += (known.empty() ? "" : ", ") + std::string(one);
    return wrong_argument(fmt::format("{}: found the key '{}', expected one of {}", where_, key, known));
  }
  return {};
}

Result<double> JsonReader::number(const char* key, double least, double most) const {
  const auto found = value_->find(key);
  if (found != value_->end() && found->is_number()) {
    const double value = found->get<double>();
    if (value >= least && value <= most) return value;
  }
  return wrong(key, fmt::format("a number from {} to {}", least, most));
}

Result<std::int64_t> JsonReader::whole(const char* key, double least, double most) const {
  const auto found = value_->find(key);
  if (found != value_->end() && found->is_number()) {
    const double value = found->get<double>();
    if (value >= least && value <= most && value == std::floor(value)) return std::int64_t(value);
  }
  return wrong(key, fmt::format("a whole number from {} to {}", least, most));
}

Result<std::size_t> JsonReader::bytes(const char* key) const {
  RW_ASSIGN_OR_RETURN(const std::int64_t value, whole(key, 0, kBytesMost));
  return std::size_t(value);
}

Result<Nanos> JsonReader::seconds(const char* key) const {
  RW_ASSIGN_OR_RETURN(const double value, number(key, 0, kSecondsMost));
  return from_seconds(value);
}

Result<bool> JsonReader::flag(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end() || !found->is_boolean()) return wrong(key, "true or false");
  return found->get<bool>();
}

Result<std::string> JsonReader::text(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end() || !found->is_string()) return wrong(key, "a string");
  return found->get<std::string>();
}

Result<std::string> JsonReader::some_text(const char* key) const {
  RW_ASSIGN_OR_RETURN(std::string found, text(key));
  if (found.empty()) return wrong(key, "a string that says something");
  return found;
}

Result<JsonReader> JsonReader::object(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end() || !found->is_object()) return wrong(key, "an object");
  return JsonReader(*found, where_ + ": " + key);
}

Result<std::vector<JsonReader>> JsonReader::objects(const char* key) const {
  const auto found = value_->find(key);
  if (found == value_->end() || !found->is_array() || found->empty()) return wrong(key, "a list of objects");
  std::vector<JsonReader> all;
  for (std::size_t i = 0; i < found->size(); ++i) {
    RW_ASSIGN_OR_RETURN(JsonReader one, of((*found)[i], fmt::format("{}: {}[{}]", where_, key, i)));
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<std::string> JsonReader::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, value] : value_->items()) all.push_back(key);
  return all;
}

Result<json> parse_json(const std::string& text, const std::string& where) {
  bool too_deep = false;
  const auto within = [&](int depth, json::parse_event_t, json&) { return !(too_deep = too_deep || depth > kDeepest); };
  try {
    json document = json::parse(text, within);
    if (too_deep) return wrong_argument(fmt::format("{}: found more than {} levels of brackets", where, kDeepest));
    return document;
  } catch (const json::out_of_range& error) {
    const std::string_view told = error.what();  // the text behind the error's name
    return wrong_argument(fmt::format("{}: {}", where, told.substr(told.find(' ') + 1)));
  } catch (const json::parse_error& error) {
    const auto place = text.begin() + std::ptrdiff_t(std::min(error.byte, text.size()));
    const auto line = 1 + std::count(text.begin(), place, '\n');
    return wrong_argument(fmt::format("{}: is no JSON from line {} on", where, line));
  }
}

Result<json> read_json(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return wrong_argument(path + " is a directory, expected a file");
  std::ifstream file(path);
  if (!file) return system_error(Scope::request, path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return system_error(Scope::request, path);
  return parse_json(text, path);
}

}  // namespace railweave::perf::fsdp_replay
