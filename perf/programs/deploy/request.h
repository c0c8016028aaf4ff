// What `railweave deploy render` is asked for.
#pragma once

#include <string>
#include <vector>

namespace railweave::deploy {

enum class Via {
  dra,     // Dynamic Resource Allocation: DRANET moves whole NICs into the pod
  multus,  // Multus with macvlan: pods share the host's NICs
  sriov,   // Multus with SR-IOV: a virtual function of each NIC
};

enum class Kind { pod, trainjob, pytorchjob, mpijob };

inline constexpr int kNicsMax = 16;                             // rails of an engine
inline constexpr int kKubernetesMin = 33, kKubernetesMax = 37;  // 1.33 to 1.37
inline constexpr int kKubernetesDefault = 34;
inline constexpr int kNodesMax = 1000, kPerNodeMax = 64;
inline constexpr std::size_t kNameBytesMax = 40;  // leaves room for "-worker-999" and the like in 63

// REQUIRES (render() checks): names as names.h takes them; lists of one element for each NIC, or empty.
struct Request {
  int nics = 2;  // rails of each pod
  Via via = Via::dra;
  Kind kind = Kind::pod;
  int kubernetes = kKubernetesDefault;  // minor version: 34 is 1.34

  std::string name = "railweave";  // of the job; names of other objects begin with it
  std::string name_space;          // empty: kubectl's
  std::string image = "railweave:latest";
  std::vector<std::string> command;  // of mpirun, or a script for torchrun; empty: the kind's own
  int nodes = 2;                     // pods that carry traffic
  int processes = 0;                 // ranks in each pod; 0: one for each GPU, or one without GPUs
  int gpus = 0;                      // nvidia.com/gpu of each pod
  std::string key_secret;            // Secret whose entry "key" is RAILWEAVE_KEY_FILE; empty: no key

  std::vector<std::string> interfaces;  // multus: the hosts' NICs; empty: eth1, eth2, ...
  std::vector<std::string> resources;   // sriov: the device plugin's resources; empty: openshift.io/rail0, ...
  std::vector<std::string> subnets;     // multus and sriov: of each rail; empty: 192.168.10.0/24, 192.168.11.0/24, ...
};

}  // namespace railweave::deploy
