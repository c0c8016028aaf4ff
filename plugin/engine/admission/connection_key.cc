#include "engine/admission/connection_key.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace railweave::engine {
namespace {

std::span<const std::byte> piece(const Role& role) { return std::as_bytes(std::span(&role, 1)); }

Result<Tag> member_tag(const Secret& session, Role by, const Secret& connection) {
  return tag_of(session, "railweave member 1", {piece(by), connection.bytes()});
}

Result<Tag> hello_tag(const Secret& connection, Role by, std::span<const std::byte> member,
                      std::span<const std::byte> hello) {
  return tag_of(connection, "railweave hello 1", {piece(by), member, hello});
}

Status unsealed(const char* what) { return Status(Code::remote, Scope::lane, std::string("handshake: ") + what); }

}  // namespace

Result<Secret> ConnectionKey::session_secret() const { return derive(secret_, "railweave session 1", {}); }

Result<Secret> ConnectionKey::tls_secret() const { return derive(secret_, "railweave tls 1", {}); }

Result<Seal> ConnectionKey::seal(Role by, std::span<const std::byte> hello, const Secret* session) const {
  Tag member{};
  if (session) {
    RW_ASSIGN_OR_RETURN(member, member_tag(*session, by, secret_));
  }
  RW_ASSIGN_OR_RETURN(const Tag whole, hello_tag(secret_, by, member, hello));
  Seal seal;
  std::ranges::copy(whole, seal.begin());
  std::ranges::copy(member, seal.begin() + kTagBytes);
  return seal;
}

Status ConnectionKey::check(Role by, std::span<const std::byte> hello, const Seal& seal) const {
  const std::span found(seal);
  RW_ASSIGN_OR_RETURN(const Tag expected, hello_tag(secret_, by, found.last<kTagBytes>(), hello));
  if (same(expected, found.first<kTagBytes>())) return {};
  return unsealed("the authentication tag does not match: the message was altered, or belongs to another connection");
}

Status ConnectionKey::check_session(Role by, const Seal& seal, const Secret& session) const {
  RW_ASSIGN_OR_RETURN(const Tag expected, member_tag(session, by, secret_));
  if (same(expected, std::span(seal).last<kTagBytes>())) return {};
  return unsealed(by == Role::dialler ? "the dialler does not know the session's secret"
                                      : "the acceptor does not know the session's secret");
}

}  // namespace railweave::engine
