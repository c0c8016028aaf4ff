#include "fsdp_replay/trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "common/output_file.h"
#include "common/report.h"
#include "fsdp_replay/json_reader.h"
#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

using nlohmann::json;

Result<Layer> layer_of(const JsonReader& fields) {
  RW_TRY(fields.only({"name", "gather_bytes", "reduce_bytes", "kept", "forward_s", "backward_s"}));
  Layer layer;
  RW_ASSIGN_OR_RETURN(layer.name, fields.text("name"));
  RW_ASSIGN_OR_RETURN(layer.gather_bytes, fields.bytes("gather_bytes"));
  layer.reduce_bytes = layer.gather_bytes;
  if (fields.has("reduce_bytes")) {
    RW_ASSIGN_OR_RETURN(layer.reduce_bytes, fields.bytes("reduce_bytes"));
  }
  if (fields.has("kept")) {
    RW_ASSIGN_OR_RETURN(layer.kept, fields.flag("kept"));
  }
  RW_ASSIGN_OR_RETURN(layer.forward, fields.seconds("forward_s"));
  RW_ASSIGN_OR_RETURN(layer.backward, fields.seconds("backward_s"));
  return layer;
}

Result<Trace> trace_of(const json& document, const std::string& where) {
  RW_ASSIGN_OR_RETURN(const JsonReader fields, JsonReader::of(document, where));
  RW_TRY(fields.only({"schema", "name", "resident_bytes", "optimizer_s", "layers"}));
  RW_TRY(fields.number("schema", 1, 1));
  Trace trace;
  RW_ASSIGN_OR_RETURN(trace.name, fields.text("name"));
  if (fields.has("resident_bytes")) {
    RW_ASSIGN_OR_RETURN(trace.resident_bytes, fields.bytes("resident_bytes"));
  }
  if (fields.has("optimizer_s")) {
    RW_ASSIGN_OR_RETURN(trace.optimizer, fields.seconds("optimizer_s"));
  }
  RW_ASSIGN_OR_RETURN(const std::vector<JsonReader> layers, fields.objects("layers"));
  for (const JsonReader& one : layers) {
    RW_ASSIGN_OR_RETURN(Layer layer, layer_of(one));
    trace.layers.push_back(std::move(layer));
  }
  return trace;
}

}  // namespace

Nanos Trace::computing() const {
  Nanos all{};
  for (const Layer& layer : layers) all += layer.forward + layer.backward;
  return all;
}

std::size_t Trace::largest_gather() const {
  std::size_t largest = 0;
  for (const Layer& layer : layers) largest = std::max(largest, layer.gather_bytes);
  return largest;
}

Result<Trace> parse_trace(const std::string& text, const std::string& where) {
  RW_ASSIGN_OR_RETURN(const json document, parse_json(text, where));
  return trace_of(document, where);
}

Result<Trace> read_trace(const std::string& path) {
  RW_ASSIGN_OR_RETURN(const json document, read_json(path));
  return trace_of(document, path);
}

Status write_trace(const Trace& trace, const std::string& path) {
  const std::string text = trace_text(trace);
  RW_TRY(parse_trace(text, path));
  return write_output_file(path, text);
}

std::string trace_text(const Trace& trace) {
  json document{{"schema", 1},
                {"name", trace.name},
                {"resident_bytes", trace.resident_bytes},
                {"optimizer_s", in_seconds(trace.optimizer)},
                {"layers", json::array()}};
  for (const Layer& layer : trace.layers) {
    document["layers"].push_back({{"name", layer.name},
                                  {"gather_bytes", layer.gather_bytes},
                                  {"reduce_bytes", layer.reduce_bytes},
                                  {"kept", layer.kept},
                                  {"forward_s", in_seconds(layer.forward)},
                                  {"backward_s", in_seconds(layer.backward)}});
  }
  return json_text(document, 1) + '\n';
}

}  // namespace railweave::perf::fsdp_replay
