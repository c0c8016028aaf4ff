#include "wire/bootstrap/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/address_text.h"

namespace railweave::wire {
namespace {

const sockaddr_in& v4(const SocketAddress& a) { return reinterpret_cast<const sockaddr_in&>(a.storage); }
const sockaddr_in6& v6(const SocketAddress& a) { return reinterpret_cast<const sockaddr_in6&>(a.storage); }

Status ill_formed(std::string_view text) {
  return Status(Code::invalid_argument, Scope::request,
                fmt::format("'{}' is no socket address: expected a.b.c.d:port or [v6]:port", text));
}

// Parses all of `text` as a number of at most `most`. False: `text` is no such number.
bool parse_number(std::string_view text, std::uint32_t most, std::uint32_t& number) {
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && number <= most;
}

bool parse_scope(std::string_view text, std::uint32_t& scope) {
  if (parse_number(text, UINT32_MAX, scope)) return true;
  scope = ::if_nametoindex(std::string(text).c_str());
  return scope != 0;
}

bool parse_v6(std::string_view text, Address& address) {
  address.family = Address::Family::v6;
  address.prefix_bits = 128;
  if (const auto percent = text.find('%'); percent != text.npos) {
    if (!parse_scope(text.substr(percent + 1), address.scope_id)) return false;
    text = text.substr(0, percent);
  }
  return ::inet_pton(AF_INET6, std::string(text).c_str(), address.bytes.data()) == 1;
}

template <class Call>
SocketAddress asked(Call call, int fd) {
  SocketAddress a;
  a.size = sizeof a.storage;
  if (call(fd, a.get(), &a.size) != 0) a.size = 0;
  return a;
}

}  // namespace

std::uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET6 ? v6(*this).sin6_port : v4(*this).sin_port);
}

Address SocketAddress::address() const {
  Address a;
  if (family() == AF_INET6) {
    a.family = Address::Family::v6;
    a.prefix_bits = 128;
    a.scope_id = v6(*this).sin6_scope_id;
    std::memcpy(a.bytes.data(), &v6(*this).sin6_addr, 16);
  } else {
    std::memcpy(a.bytes.data(), &v4(*this).sin_addr, 4);
  }
  return a;
}

bool SocketAddress::loopback() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&v6(*this).sin6_addr);
  return (ntohl(v4(*this).sin_addr.s_addr) >> 24) == 127;
}

SocketAddress socket_address(const Address& address, std::uint16_t port) {
  SocketAddress a;
  if (address.family == Address::Family::v6) {
    auto& to = reinterpret_cast<sockaddr_in6&>(a.storage);
    a.size = sizeof to;
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    to.sin6_scope_id = address.scope_id;
    std::memcpy(&to.sin6_addr, address.bytes.data(), 16);
  } else {
    auto& to = reinterpret_cast<sockaddr_in&>(a.storage);
    a.size = sizeof to;
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    std::memcpy(&to.sin_addr, address.bytes.data(), 4);
  }
  return a;
}

Result<SocketAddress> parse_socket_address(std::string_view text) {
  const auto colon = text.rfind(':');
  std::uint32_t port = 0;
  if (colon == text.npos || !parse_number(text.substr(colon + 1), 65535, port)) return ill_formed(text);
  const std::string_view host = text.substr(0, colon);
  Address address;
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    if (!parse_v6(host.substr(1, host.size() - 2), address)) return ill_formed(text);
  } else if (::inet_pton(AF_INET, std::string(host).c_str(), address.bytes.data()) != 1) {
    return ill_formed(text);
  }
  return socket_address(address, std::uint16_t(port));
}

std::string to_string(const SocketAddress& address) {
  if (address.size == 0) return "none";
  const std::string host = railweave::to_string(address.address());
  if (address.family() == AF_INET6) return fmt::format("[{}]:{}", host, address.port());
  return fmt::format("{}:{}", host, address.port());
}

SocketAddress local_address(int fd) { return asked(::getsockname, fd); }
SocketAddress remote_address(int fd) { return asked(::getpeername, fd); }

}  // namespace railweave::wire
