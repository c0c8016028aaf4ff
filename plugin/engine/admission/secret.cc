#include "engine/admission/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <vector>

#include "base/scope_exit.h"

namespace railweave::engine {
namespace {

// Initializes OpenSSL without its exit handlers, which would run while our threads still run. The configuration of the
// host's own OpenSSL is not loaded: it may name modules that are not made for this OpenSSL.
bool ready() {
  static const bool begun = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) == 1;
  return begun;
}

}  // namespace

void wipe(std::span<std::byte> bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

Result<Tag> tag_of(std::span<const std::byte> key, std::string_view label, Pieces pieces) {
  std::vector<std::byte> text;
  std::size_t bytes = label.size() + 1;
  for (const auto& piece : pieces) bytes += piece.size();
  text.reserve(bytes);  // never reallocates: the former memory would not be wiped
  const ScopeExit clean([&] { wipe(text); });
  const auto* const from = reinterpret_cast<const std::byte*>(label.data());
  text.insert(text.end(), from, from + label.size());
  text.push_back(std::byte{0});
  for (const auto& piece : pieces) text.insert(text.end(), piece.begin(), piece.end());
  Tag tag;
  unsigned size = 0;
  const auto* const in = reinterpret_cast<const unsigned char*>(text.data());
  auto* const out = reinterpret_cast<unsigned char*>(tag.data());
  const bool made = ready() && HMAC(EVP_sha256(), key.data(), int(key.size()), in, text.size(), out, &size) != nullptr;
  if (made && size == tag.size()) return tag;
  return Status(Code::exhausted, Scope::lane, "OpenSSL could not compute an HMAC, most likely for want of memory");
}

Result<Secret> derive(const Secret& key, std::string_view label, Pieces pieces) {
  Result<Tag> tag = tag_of(key, label, pieces);
  if (!tag.ok()) return tag.status();
  const ScopeExit clean([&] { wipe(*tag); });
  return Secret(*tag);
}

bool same(std::span<const std::byte, kTagBytes> a, std::span<const std::byte, kTagBytes> b) {
  return CRYPTO_memcmp(a.data(), b.data(), kTagBytes) == 0;
}

}  // namespace railweave::engine
