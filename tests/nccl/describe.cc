#include "tests/nccl/describe.h"

#include <nlohmann/json.hpp>

#include "tests/nccl/channel.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/peer.h"

namespace railweave::nccl_test {
namespace {

using nlohmann::json;

json to_json(const Properties& p) {
  return {{"name", p.name},
          {"pci", p.pci_path},
          {"guid", p.guid},
          {"ptr", p.ptr_support},
          {"global", p.reg_is_global},
          {"flush", p.force_flush},
          {"speed", p.speed_mbps},
          {"port", p.port},
          {"latency", p.latency_us},
          {"comms", p.max_comms},
          {"recvs", p.max_recvs},
          {"type", p.net_device_type},
          {"version", p.net_device_version},
          {"vdevices", p.vdevices},
          {"members", p.vdevice_members},
          {"p2p", p.max_p2p_bytes},
          {"coll", p.max_coll_bytes},
          {"multi", p.max_multi_request},
          {"rail", p.rail_id},
          {"plane", p.plane_id}};
}

Properties from_json(const json& j) {
  Properties p;
  j.at("name").get_to(p.name);
  j.at("pci").get_to(p.pci_path);
  j.at("guid").get_to(p.guid);
  j.at("ptr").get_to(p.ptr_support);
  j.at("global").get_to(p.reg_is_global);
  j.at("flush").get_to(p.force_flush);
  j.at("speed").get_to(p.speed_mbps);
  j.at("port").get_to(p.port);
  j.at("latency").get_to(p.latency_us);
  j.at("comms").get_to(p.max_comms);
  j.at("recvs").get_to(p.max_recvs);
  j.at("type").get_to(p.net_device_type);
  j.at("version").get_to(p.net_device_version);
  j.at("vdevices").get_to(p.vdevices);
  j.at("members").get_to(p.vdevice_members);
  j.at("p2p").get_to(p.max_p2p_bytes);
  j.at("coll").get_to(p.max_coll_bytes);
  j.at("multi").get_to(p.max_multi_request);
  j.at("rail").get_to(p.rail_id);
  j.at("plane").get_to(p.plane_id);
  return p;
}

}  // namespace

int role_describe(Channel& to_test, const std::string& version) {
  const Library library(options().plugin);
  const auto net = library.net(std::stoi(version));
  json all{{"properties", json::array()},
           {"warnings", json::array()},
           {"infos", json::array()},
           {"overrides", json::array()}};
  void* context = nullptr;
  const int init_result = net->init(&context, -1, capture_log);
  int devices = 0, devices_result = abi::kInternalError;
  if (init_result == abi::kSuccess) devices_result = net->devices(&devices);
  for (int dev = 0; dev < devices; ++dev) {
    Properties properties;
    net->properties(dev, properties);
    all["properties"].push_back(to_json(properties));
  }
  net->finalize(context);
  for (const LogLine& line : captured_log()) {
    const bool of_environment = line.flags == abi::kSubsysEnv;
    all[line.level == abi::kLogWarn ? "warnings" : of_environment ? "overrides" : "infos"].push_back(line.text);
  }
  all["init"] = init_result;
  all["devices_result"] = devices_result;
  all["devices"] = devices;
  to_test.send(all.dump(-1, ' ', false, json::error_handler_t::replace));
  return 0;
}

Description describe_plugin(int version, const std::vector<std::string>& environment) {
  Peer peer("describe", std::to_string(version), environment);
  const json all = json::parse(peer.channel().receive());
  peer.expect_exit();
  Description d;
  all.at("init").get_to(d.init_result);
  all.at("devices_result").get_to(d.devices_result);
  all.at("devices").get_to(d.devices);
  all.at("warnings").get_to(d.warnings);
  all.at("infos").get_to(d.infos);
  all.at("overrides").get_to(d.overrides);
  for (const json& each : all.at("properties")) d.properties.push_back(from_json(each));
  return d;
}

}  // namespace railweave::nccl_test
