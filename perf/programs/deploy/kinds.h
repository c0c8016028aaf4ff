// The objects of a job, for each kind of job.
#pragma once

#include <vector>

#include "deploy/documents.h"
#include "deploy/networks.h"
#include "deploy/request.h"

namespace railweave::deploy {

std::vector<Document> pods(const Request& request, const Networks& networks);
std::vector<Document> trainjob(const Request& request, const Networks& networks);
std::vector<Document> pytorchjob(const Request& request, const Networks& networks);
std::vector<Document> mpijob(const Request& request, const Networks& networks);

}  // namespace railweave::deploy
