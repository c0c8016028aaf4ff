#include "deploy/documents.h"

namespace railweave::deploy {

std::string file_text(const std::vector<Document>& documents) {
  std::string text;
  for (const Document& one : documents) {
    if (!text.empty()) text += "---\n";
    for (const std::string& line : one.comment) text += line.empty() ? "#\n" : "# " + line + "\n";
    text += yaml_text(one.body);
  }
  return text;
}

Json object(const std::string& api_version, const std::string& kind, const std::string& name,
            const std::string& name_space) {
  Json body{{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
  if (!name_space.empty()) body["metadata"]["namespace"] = name_space;
  return body;
}

}  // namespace railweave::deploy
