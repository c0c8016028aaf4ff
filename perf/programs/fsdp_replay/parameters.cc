#include "fsdp_replay/parameters.h"

#include "base/error.h"
#include "fsdp_replay/json_reader.h"
#include "fsdp_replay/seconds.h"

namespace railweave::perf::fsdp_replay {
namespace {

constexpr double kLargest = 1e18;

// The field "values": {"name": {"value": ..., "unit": ..., "source": ...}}.
class Values {
 public:
  explicit Values(JsonReader fields) : fields_(std::move(fields)) {}

  Status into(const char* key, double& value, double least = 0, double most = kLargest) const {
    RW_ASSIGN_OR_RETURN(const JsonReader one, fields_.object(key));
    RW_TRY(check_one(one));
    RW_ASSIGN_OR_RETURN(value, one.number("value", least, most));
    return {};
  }
  Status into(const char* key, std::size_t& value) const {
    RW_ASSIGN_OR_RETURN(const std::int64_t number, whole(key, 1, 1e15));
    value = std::size_t(number);
    return {};
  }
  Status into(const char* key, int& value, int least, int most) const {
    RW_ASSIGN_OR_RETURN(const std::int64_t number, whole(key, least, most));
    value = int(number);
    return {};
  }
  Status into(const char* key, Nanos& value) const {
    double seconds = 0;
    RW_TRY(into(key, seconds, 0, 3600));
    value = from_seconds(seconds);
    return {};
  }
  Status into(const char* key, Rate& value) const { return into(key, value.bytes_per_s, 1); }

 private:
  static Status check_one(const JsonReader& one) {
    RW_TRY(one.only({"value", "unit", "source"}));
    RW_TRY(one.some_text("unit"));
    return status_of(one.some_text("source"));
  }
  Result<std::int64_t> whole(const char* key, double least, double most) const {
    RW_ASSIGN_OR_RETURN(const JsonReader one, fields_.object(key));
    RW_TRY(check_one(one));
    return one.whole("value", least, most);
  }

  JsonReader fields_;
};

Status read_values(const JsonReader& fields, Parameters& p) {
  RW_TRY(fields.only({"memory_bytes", "ranks_per_host", "wire_bytes_per_s", "within_bytes_per_s", "host_step_latency_s",
                      "within_step_latency_s", "segment_bytes", "channels_per_class", "launch_s", "wake_s",
                      "synchronize_s", "limiter_gathers", "forward_prefetch", "backward_prefetch",
                      "bytes_per_parameter", "state_bytes_per_parameter"}));
  const Values values(fields);
  RW_TRY(values.into("memory_bytes", p.memory_bytes));
  RW_TRY(values.into("ranks_per_host", p.ranks_per_host, 1, 1024));
  RW_TRY(values.into("wire_bytes_per_s", p.wire));
  RW_TRY(values.into("within_bytes_per_s", p.within));
  RW_TRY(values.into("host_step_latency_s", p.host_step_latency));
  RW_TRY(values.into("within_step_latency_s", p.within_step_latency));
  RW_TRY(values.into("segment_bytes", p.segment_bytes));
  RW_TRY(values.into("channels_per_class", p.channels_per_class, 1, 64));
  RW_TRY(values.into("launch_s", p.launch));
  RW_TRY(values.into("wake_s", p.wake));
  RW_TRY(values.into("synchronize_s", p.synchronize));
  RW_TRY(values.into("limiter_gathers", p.limiter_gathers, 1, 1000));
  RW_TRY(values.into("forward_prefetch", p.forward_prefetch, 0, 1000));
  RW_TRY(values.into("backward_prefetch", p.backward_prefetch, 0, 1000));
  RW_TRY(values.into("bytes_per_parameter", p.bytes_per_parameter, 1, 8));
  return values.into("state_bytes_per_parameter", p.state_bytes_per_parameter, 0, 64);
}

Result<ModelShape::Unit> unit_of(const JsonReader& fields) {
  RW_TRY(fields.only({"name", "count", "parameters", "computes", "attention_width"}));
  ModelShape::Unit unit;
  RW_ASSIGN_OR_RETURN(unit.name, fields.text("name"));
  RW_ASSIGN_OR_RETURN(const std::int64_t count, fields.whole("count", 1, 10'000));
  unit.count = int(count);
  RW_ASSIGN_OR_RETURN(unit.parameters, fields.number("parameters", 1, 1e13));
  RW_ASSIGN_OR_RETURN(unit.computes, fields.flag("computes"));
  RW_ASSIGN_OR_RETURN(unit.attention_width, fields.number("attention_width", 0, 1e9));
  return unit;
}

Result<ModelShape> model_of(const JsonReader& fields) {
  RW_TRY(fields.only({"units", "sequence", "batch", "recompute", "flops", "activation_bytes_per_sample", "source"}));
  RW_TRY(fields.some_text("source"));
  ModelShape model;
  RW_ASSIGN_OR_RETURN(const std::vector<JsonReader> units, fields.objects("units"));
  for (const JsonReader& one : units) {
    RW_ASSIGN_OR_RETURN(ModelShape::Unit unit, unit_of(one));
    model.units.push_back(std::move(unit));
  }
  RW_ASSIGN_OR_RETURN(model.sequence, fields.number("sequence", 1, 1e9));
  RW_ASSIGN_OR_RETURN(model.batch, fields.number("batch", 1, 1e6));
  RW_ASSIGN_OR_RETURN(model.recompute, fields.flag("recompute"));
  RW_ASSIGN_OR_RETURN(model.flops, fields.number("flops", 1, kLargest));
  RW_ASSIGN_OR_RETURN(model.activation_bytes_per_sample, fields.number("activation_bytes_per_sample", 0, 1e15));
  return model;
}

Result<PublishedScaling> scaling_of(const JsonReader& fields) {
  RW_TRY(fields.only({"model", "host_step_latency_s", "cases", "source"}));
  PublishedScaling scaling;
  RW_ASSIGN_OR_RETURN(scaling.model, fields.text("model"));
  RW_ASSIGN_OR_RETURN(scaling.host_step_latency, fields.seconds("host_step_latency_s"));
  RW_TRY(fields.some_text("source"));
  RW_ASSIGN_OR_RETURN(const std::vector<JsonReader> cases, fields.objects("cases"));
  for (const JsonReader& one : cases) {
    RW_TRY(one.only({"name", "published", "hosts", "limiter", "batch"}));
    PublishedScaling::Case c;
    RW_ASSIGN_OR_RETURN(c.name, one.text("name"));
    RW_ASSIGN_OR_RETURN(c.published, one.text("published"));
    RW_ASSIGN_OR_RETURN(const std::int64_t hosts, one.whole("hosts", 2, 1024));
    c.hosts = int(hosts);
    RW_ASSIGN_OR_RETURN(const std::string limiter, one.text("limiter"));
    const auto parsed = parse_limiter(limiter);
    if (!parsed.ok()) return one.wrong("limiter", std::string(kLimiterChoices));
    c.limiter = parsed.value();
    RW_ASSIGN_OR_RETURN(c.batch, one.number("batch", 1, 1e6));
    scaling.cases.push_back(std::move(c));
  }
  return scaling;
}

Result<PublishedBound> published_bound_of(const JsonReader& fields) {
  RW_TRY(fields.only({"parameters", "units", "hosts", "compute_share", "published", "source"}));
  PublishedBound bound;
  RW_TRY(fields.some_text("source"));
  RW_ASSIGN_OR_RETURN(bound.parameters, fields.number("parameters", 1, 1e13));
  RW_ASSIGN_OR_RETURN(const std::int64_t units, fields.whole("units", 1, 10'000));
  RW_ASSIGN_OR_RETURN(const std::int64_t hosts, fields.whole("hosts", 2, 1024));
  bound.units = int(units);
  bound.hosts = int(hosts);
  RW_ASSIGN_OR_RETURN(bound.compute_share, fields.number("compute_share", 0, 1000));
  RW_ASSIGN_OR_RETURN(bound.published, fields.text("published"));
  return bound;
}

}  // namespace

Result<Parameters> read_parameters(const std::string& path) {
  RW_ASSIGN_OR_RETURN(const nlohmann::json document, read_json(path));
  RW_ASSIGN_OR_RETURN(const JsonReader fields, JsonReader::of(document, path));
  RW_TRY(fields.only({"schema", "values", "models", "published", "sources"}));
  RW_TRY(fields.number("schema", 1, 1));
  Parameters parameters;
  RW_ASSIGN_OR_RETURN(const JsonReader values, fields.object("values"));
  RW_TRY(read_values(values, parameters));
  RW_ASSIGN_OR_RETURN(const JsonReader models, fields.object("models"));
  for (const std::string& name : models.keys()) {
    RW_ASSIGN_OR_RETURN(const JsonReader one, models.object(name.c_str()));
    RW_ASSIGN_OR_RETURN(parameters.models[name], model_of(one));
  }
  RW_ASSIGN_OR_RETURN(const JsonReader published, fields.object("published"));
  RW_TRY(published.only({"scaling", "communication_bound"}));
  RW_ASSIGN_OR_RETURN(const JsonReader scaling, published.object("scaling"));
  RW_ASSIGN_OR_RETURN(parameters.scaling, scaling_of(scaling));
  RW_ASSIGN_OR_RETURN(const JsonReader bound, published.object("communication_bound"));
  RW_ASSIGN_OR_RETURN(parameters.communication_bound, published_bound_of(bound));
  if (!parameters.models.contains(parameters.scaling.model)) {
    return scaling.wrong("model", "one of models");
  }
  return parameters;
}

}  // namespace railweave::perf::fsdp_replay
