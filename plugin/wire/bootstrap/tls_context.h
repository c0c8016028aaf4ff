// The process-wide TLS settings (docs/operate/encryption.md): TLS 1.3 only, one cipher, and a pre-shared key of 32
// bytes instead of certificates.
// Lifetime: created at first use and never freed, so no exit handler frees the settings under running threads.
// Threads: any.
#pragma once

#include <array>
#include <cstddef>

struct ssl_st;
struct bio_method_st;

namespace railweave::wire {

inline constexpr std::size_t kTlsKeyBytes = 32;
using TlsKey = std::array<std::byte, kTlsKeyBytes>;

enum class TlsEnd { client, server };

// Returns a new connection, which the caller frees by SSL_free(); null without memory.
// REQUIRES: `key` outlives the handshake, which reads it when needed.
ssl_st* new_tls_connection(TlsEnd end, const TlsKey& key);

}  // namespace railweave::wire
