// What holds for all TLS of the process (docs/operate/encryption.md): TLS 1.3 alone, one cipher, a key of 32 bytes
// instead of certificates. Made at first need and never freed: no handler at exit takes it from threads that still run.
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

// A connection that asks `key` for its key when its handshake needs it. `key` outlives the handshake. Null without
// memory.
ssl_st* new_tls_connection(TlsEnd end, const TlsKey& key);

}  // namespace railweave::wire
