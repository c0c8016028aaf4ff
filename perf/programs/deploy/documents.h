// A file of manifests: documents with comments, separated by "---".
#pragma once

#include <string>
#include <vector>

#include "deploy/yaml.h"

namespace railweave::deploy {

struct Document {
  std::vector<std::string> comment;  // lines above the document, without "# "
  Json body;
};

std::string file_text(const std::vector<Document>& documents);

// The beginning of every object. An empty `name_space` is left out.
Json object(const std::string& api_version, const std::string& kind, const std::string& name,
            const std::string& name_space);

}  // namespace railweave::deploy
