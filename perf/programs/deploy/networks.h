// How the pods of a job get their rails: what the cluster needs beside the job, and what each pod says.
#pragma once

#include <vector>

#include "deploy/documents.h"
#include "deploy/request.h"

namespace railweave::deploy {

struct Networks {
  std::vector<Document> documents;  // objects that the pods refer to
  Json annotations;                 // of each pod; null: none
  Json pod_claims;                  // spec.resourceClaims of each pod; null: none
  Json container_claims;            // resources.claims of the container; null: none
  Json devices;                     // counts of extended resources, for requests and limits; null: none
  bool has_status = false;          // Multus writes the annotation network-status
};

// REQUIRES: `request` as render() checked it, with its lists filled.
Networks networks_of(const Request& request);

}  // namespace railweave::deploy
