// Makes the manifests of a job.
#pragma once

#include <string>

#include "deploy/request.h"
#include "railweave/status.h"

namespace railweave::deploy {

// Returns the manifests as YAML: first the objects that give pods their rails, then the job. The text depends on
// `request` alone. Errors: invalid_argument; the message begins with the option, "--subnets: ...".
Result<std::string> render(Request request);

// The words of a command line that asks for `request`, without what is the default: "--nics 4 --via sriov".
std::string options_of(const Request& request);

}  // namespace railweave::deploy
