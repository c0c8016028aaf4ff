#include "wire/bootstrap/tls_context.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <string_view>

namespace railweave::wire {
namespace {

constexpr std::string_view kIdentity = "railweave";
constexpr unsigned char kCipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256

// Returns a new OpenSSL session with the connection's key; null without memory.
SSL_SESSION* session_of(SSL* ssl) {
  const auto* const key = static_cast<const TlsKey*>(SSL_get_app_data(ssl));
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kCipher);
  SSL_SESSION* const session = SSL_SESSION_new();
  if (!session) return nullptr;
  const bool made =
      key && cipher &&
      SSL_SESSION_set1_master_key(session, reinterpret_cast<const unsigned char*>(key->data()), key->size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (made) return session;
  SSL_SESSION_free(session);
  return nullptr;
}

int say_key(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* bytes, SSL_SESSION** session) {
  *session = session_of(ssl);
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *bytes = kIdentity.size();
  return *session ? 1 : 0;
}

int find_key(SSL* ssl, const unsigned char* identity, std::size_t bytes, SSL_SESSION** session) {
  *session = nullptr;  // with result 1: no key has this identity
  if (std::string_view(reinterpret_cast<const char*>(identity), bytes) != kIdentity) return 1;
  *session = session_of(ssl);
  return *session ? 1 : 0;
}

SSL_CTX* new_context() {
  // No exit handler, and no configuration file of the host, as in engine/admission/secret.cc.
  if (OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) != 1) return nullptr;
  SSL_CTX* const context = SSL_CTX_new(TLS_method());
  if (!context) return nullptr;
  const bool set = SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
                   SSL_CTX_set1_groups_list(context, "X25519") == 1 && SSL_CTX_set_num_tickets(context, 0) == 1;
  if (!set) {
    SSL_CTX_free(context);
    return nullptr;
  }
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_quiet_shutdown(context, 1);
  SSL_CTX_set_psk_use_session_callback(context, say_key);
  SSL_CTX_set_psk_find_session_callback(context, find_key);
  return context;
}

}  // namespace

ssl_st* new_tls_connection(TlsEnd end, const TlsKey& key) {
  static SSL_CTX* const context = new_context();
  SSL* const ssl = context ? SSL_new(context) : nullptr;
  if (!ssl) return nullptr;
  SSL_set_app_data(ssl, const_cast<TlsKey*>(&key));
  if (end == TlsEnd::client) {
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);  // accepts no certificate, only the key
    SSL_set_connect_state(ssl);
  } else {
    SSL_set_accept_state(ssl);
  }
  return ssl;
}

}  // namespace railweave::wire
