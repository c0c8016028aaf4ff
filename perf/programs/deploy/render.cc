#include "deploy/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "deploy/documents.h"
#include "deploy/kinds.h"
#include "deploy/names.h"
#include "deploy/networks.h"

namespace railweave::deploy {
namespace {

using Words = std::vector<std::string>;
using Problem = std::function<std::string(const std::string&)>;
using Clash = std::function<bool(const std::string&, const std::string&)>;

Status wrong(const char* option, const std::string& problem) {
  return problem.empty() ? Status()
                         : Status(Code::invalid_argument, Scope::request, fmt::format("{}: {}", option, problem));
}

Status check_number(const char* option, int number, int least, int most) {
  return number >= least && number <= most
             ? Status()
             : wrong(option, fmt::format("found {}, expected {} to {}", number, least, most));
}

bool same_name(const std::string& a, const std::string& b) { return a == b; }
bool never(const std::string&, const std::string&) { return false; }

// One element for each NIC, or none. `belongs`: the list has a meaning for request.via. `clash`: whether two rails
// cannot have these two elements.
Status check_list(const char* option, const Words& list, const Request& request, bool belongs, const Clash& clash,
                  const Problem& problem) {
  if (list.empty()) return {};
  if (!belongs) return wrong(option, "has no meaning for this --via");
  if (list.size() != static_cast<std::size_t>(request.nics))
    return wrong(option, fmt::format("found {} elements, expected {}, as --nics says", list.size(), request.nics));
  for (auto one = list.begin(); one != list.end(); ++one) {
    RW_TRY(wrong(option, problem(*one)));
    const auto other = std::find_if(list.begin(), one, [&](const std::string& before) { return clash(before, *one); });
    if (other == one) continue;
    if (*other == *one)
      return wrong(option, fmt::format("found {} twice, expected a different one for each rail", *one));
    return wrong(option,
                 fmt::format("found {} and {}, which overlap, expected a subnet for each rail alone", *other, *one));
  }
  return {};
}

Status check_names(const Request& request) {
  RW_TRY(wrong("--name", label_problem(request.name, kNameBytesMax)));
  if (request.name.front() >= '0' && request.name.front() <= '9')
    return wrong("--name", "found a digit in front, expected a letter: the name is that of a Service, too");
  if (!request.name_space.empty()) RW_TRY(wrong("--namespace", label_problem(request.name_space)));
  if (!request.key_secret.empty()) RW_TRY(wrong("--key-secret", subdomain_problem(request.key_secret)));
  RW_TRY(wrong("--image", image_problem(request.image)));
  for (const std::string& word : request.command) RW_TRY(wrong("COMMAND", word_problem(word)));
  if (request.kind != Kind::mpijob && !request.command.empty() && request.command.front().starts_with("python"))
    return wrong("COMMAND", "found python in front, expected a script and its arguments: torchrun starts Python");
  return {};
}

Status check(const Request& request) {
  RW_TRY(check_number("--nics", request.nics, 1, kNicsMax));
  RW_TRY(check_number("--nodes", request.nodes, 1, kNodesMax));
  RW_TRY(check_number("--processes", request.processes, 0, kPerNodeMax));
  RW_TRY(check_number("--gpus", request.gpus, 0, kPerNodeMax));
  if (request.kubernetes < kKubernetesMin || request.kubernetes > kKubernetesMax) {
    return wrong("--kubernetes",
                 fmt::format("found 1.{}, expected 1.{} to 1.{}", request.kubernetes, kKubernetesMin, kKubernetesMax));
  }
  RW_TRY(check_names(request));
  const bool by_multus = request.via != Via::dra;
  RW_TRY(check_list("--interfaces", request.interfaces, request, request.via == Via::multus, same_name,
                    interface_problem));
  RW_TRY(check_list("--resources", request.resources, request, request.via == Via::sriov, never, resource_problem));
  return check_list("--subnets", request.subnets, request, by_multus, subnets_overlap, subnet_problem);
}

void fill_lists(Request& request) {
  const auto fill = [&](Words& list, auto&& name) {
    for (int nic = int(list.size()); nic < request.nics; ++nic) list.push_back(name(nic));
  };
  if (request.via == Via::multus) fill(request.interfaces, [](int nic) { return fmt::format("eth{}", nic + 1); });
  if (request.via == Via::sriov)
    fill(request.resources, [](int nic) { return fmt::format("openshift.io/rail{}", nic); });
  if (request.via != Via::dra) fill(request.subnets, [](int nic) { return fmt::format("192.168.{}.0/24", 10 + nic); });
}

std::vector<Document> job(const Request& request, const Networks& networks) {
  switch (request.kind) {
    case Kind::pod: return pods(request, networks);
    case Kind::trainjob: return trainjob(request, networks);
    case Kind::pytorchjob: return pytorchjob(request, networks);
    case Kind::mpijob: return mpijob(request, networks);
  }
  return {};
}

const char* name_of(Via via) { return via == Via::dra ? "dra" : via == Via::multus ? "multus" : "sriov"; }

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::pod: return "pod";
    case Kind::trainjob: return "trainjob";
    case Kind::pytorchjob: return "pytorchjob";
    case Kind::mpijob: return "mpijob";
  }
  return "";
}

}  // namespace

std::string options_of(const Request& request) {
  const Request usual;
  std::string text =
      fmt::format("--nics {} --via {} --kind {}", request.nics, name_of(request.via), name_of(request.kind));
  const auto add = [&](const char* option, const auto& value, const auto& usual_value) {
    if (value != usual_value) text += fmt::format(" {} {}", option, value);
  };
  add("--kubernetes", fmt::format("1.{}", request.kubernetes), fmt::format("1.{}", usual.kubernetes));
  add("--name", request.name, usual.name);
  add("--namespace", request.name_space, usual.name_space);
  add("--image", request.image, usual.image);
  add("--nodes", request.nodes, usual.nodes);
  add("--processes", request.processes, usual.processes);
  add("--gpus", request.gpus, usual.gpus);
  add("--key-secret", request.key_secret, usual.key_secret);
  add("--interfaces", fmt::format("{}", fmt::join(request.interfaces, ",")), std::string());
  add("--resources", fmt::format("{}", fmt::join(request.resources, ",")), std::string());
  add("--subnets", fmt::format("{}", fmt::join(request.subnets, ",")), std::string());
  return text + (request.command.empty() ? "" : " -- ...");
}

Result<std::string> render(Request request) {
  RW_TRY(check(request));
  const std::vector<std::string> comment{"Made by: railweave deploy render " + options_of(request),
                                         "docs/operate/kubernetes.md explains each part."};
  fill_lists(request);
  if (request.processes == 0) request.processes = std::max(request.gpus, 1);
  const Networks networks = networks_of(request);
  std::vector<Document> documents = networks.documents;
  for (Document& one : job(request, networks)) documents.push_back(std::move(one));
  std::vector<std::string>& first = documents.front().comment;
  first.insert(first.begin(), comment.begin(), comment.end());
  return file_text(documents);
}

}  // namespace railweave::deploy
