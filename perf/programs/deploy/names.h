// Checks names that users give before the names get into a manifest. Each function returns an empty text for a name
// that fits, else what was found and what was expected. Threads: any.
#pragma once

#include <string>

namespace railweave::deploy {

// A label of DNS (RFC 1123), as names of objects, namespaces and hosts: at most `bytes_max` (63) bytes.
std::string label_problem(const std::string& text, std::size_t bytes_max = 63);

// Several labels with dots between them, 253 bytes at most: the name of a Secret.
std::string subdomain_problem(const std::string& text);

// DOMAIN/NAME, as a device plugin names what it gives: "openshift.io/rail0".
std::string resource_problem(const std::string& text);

// [REGISTRY[:PORT]/]PATH[:TAG][@DIGEST], 255 bytes at most.
std::string image_problem(const std::string& text);

// An IPv4 or IPv6 subnet, "192.168.10.0/24": no bit of the host part is set, and two hosts fit.
std::string subnet_problem(const std::string& text);
// Returns true if the two subnets share an address. REQUIRES: both fit.
bool subnets_overlap(const std::string& a, const std::string& b);

// The name of a network interface: 1 to 15 visible characters of ASCII without '/', ':' and '%'.
std::string interface_problem(const std::string& text);

// One word of a command: UTF-8 without control characters, 4096 bytes at most.
std::string word_problem(const std::string& text);

}  // namespace railweave::deploy
