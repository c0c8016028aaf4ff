// Two TLS streams over a socketpair (docs/operate/encryption.md). The contract suite tests lanes over TLS.
#include "wire/bootstrap/tls_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/fd.h"

namespace railweave::wire {
namespace {

using Bytes = std::vector<std::byte>;

TlsKey key_of(int n) {
  TlsKey key;
  key.fill(std::byte(n));
  return key;
}

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = std::byte((i * 2654435761u) >> 13);
  return bytes;
}

struct End {
  OwnedFd fd;
  std::unique_ptr<TlsStream> stream;
  LaneCounters sent, received;

  ssize_t send(std::span<const iovec> pieces) { return stream->send(fd.get(), pieces, sent.calls); }
  ssize_t send(std::span<const std::byte> bytes) {
    const iovec one{const_cast<std::byte*>(bytes.data()), bytes.size()};
    return send(std::span(&one, 1));
  }
  ssize_t recv(std::span<std::byte> room) {
    const iovec one{room.data(), room.size()};
    return stream->recv(fd.get(), std::span(&one, 1), received, sent);
  }
  bool open() { return stream->advance(fd.get(), sent.calls); }
};

class TlsStreamTest : public ::testing::Test {
 protected:
  void connect(const TlsKey& clients, const TlsKey& servers, std::uint64_t update_bytes = TlsStream::kUpdateBytes,
               int room = 0) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    client.fd = OwnedFd(fds[0]);
    server.fd = OwnedFd(fds[1]);
    for (const int fd : fds) {
      if (room == 0) break;
      ASSERT_EQ(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    }
    auto at_client = TlsStream::make(TlsEnd::client, clients, update_bytes);
    auto at_server = TlsStream::make(TlsEnd::server, servers, update_bytes);
    ASSERT_TRUE(at_client.ok() && at_server.ok());
    client.stream = std::move(*at_client);
    server.stream = std::move(*at_server);
  }
  void connect() { connect(key_of(1), key_of(1)); }

  bool shake_hands() {
    std::byte none[1];
    for (int i = 0; i < 100; ++i) {
      if (client.open() && server.open()) return true;
      client.recv(none);
      server.recv(none);
    }
    return false;
  }

  // Sends all bytes, in however many pieces, and asserts that they arrive.
  void pass(End& from, End& to, const Bytes& bytes) {
    Bytes heard(bytes.size());
    std::size_t sent = 0, got = 0;
    for (int idle = 0; got < heard.size() && idle < 1000; ++idle) {
      if (sent < bytes.size())
        if (const ssize_t n = from.send(std::span(bytes).subspan(sent)); n > 0) sent += std::size_t(n), idle = 0;
      if (const ssize_t n = to.recv(std::span(heard).subspan(got)); n > 0) got += std::size_t(n), idle = 0;
    }
    EXPECT_EQ(sent, bytes.size());
    EXPECT_TRUE(heard == bytes) << got << " of " << bytes.size();
  }

  // Takes the client's ciphertext out of the server's socket.
  Bytes take_ciphertext() {
    Bytes bytes(1 << 20);
    const ssize_t n = ::recv(server.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(std::size_t(std::max<ssize_t>(n, 0)));
    return bytes;
  }
  // Sends raw bytes by the client's socket.
  void say(std::span<const std::byte> bytes) {
    ASSERT_EQ(::send(client.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
  }

  End client, server;
};

TEST_F(TlsStreamTest, what_is_said_arrives_both_ways) {
  connect();
  ASSERT_TRUE(shake_hands());
  for (const std::size_t size : {1u, 64u, 16384u, 16385u, 1'000'003u}) {
    pass(client, server, pattern(size));
    pass(server, client, pattern(size));
  }
}

TEST_F(TlsStreamTest, nothing_is_taken_before_it_is_open) {
  connect();
  EXPECT_EQ(client.send(pattern(10)), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(client.open());
  std::byte none[1];
  EXPECT_EQ(server.recv(none), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(server.stream->open());
  ASSERT_TRUE(shake_hands());
}

TEST_F(TlsStreamTest, small_pieces_share_a_record) {
  connect();
  ASSERT_TRUE(shake_hands());
  const Bytes bytes = pattern(4000);
  std::vector<iovec> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += 40)
    pieces.push_back({const_cast<std::byte*>(bytes.data()) + at, 40});
  EXPECT_EQ(client.send(pieces), 4000);
  EXPECT_EQ(take_ciphertext().size(), 4000u + 22);
}

// A record counts once all of it is in the kernel.
TEST_F(TlsStreamTest, no_record_counts_while_some_of_it_is_left) {
  connect(key_of(1), key_of(1), TlsStream::kUpdateBytes, 4096);
  ASSERT_TRUE(shake_hands());
  const Bytes bytes = pattern(300'000);
  EXPECT_EQ(client.send(bytes), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_TRUE(client.stream->pending());
  EXPECT_GT(client.stream->uncounted_bytes(), 0u);
  pass(client, server, bytes);
  EXPECT_FALSE(client.stream->pending());
  EXPECT_EQ(client.stream->uncounted_bytes(), 0u);
}

// The peer may answer all that it can read, so send() must have counted it, even if the kernel took the batch in parts.
TEST_F(TlsStreamTest, what_the_peer_can_read_has_been_counted) {
  connect(key_of(1), key_of(1), TlsStream::kUpdateBytes, 40'000);
  ASSERT_TRUE(shake_hands());
  const Bytes bytes = pattern(500'000);
  Bytes heard(bytes.size());
  std::size_t sent = 0, got = 0;
  for (int idle = 0; got < heard.size() && idle < 1000; ++idle) {
    if (const ssize_t n = client.send(std::span(bytes).subspan(sent)); n > 0) sent += std::size_t(n);
    std::byte none[1];
    client.recv(none);
    client.open();
    if (const ssize_t n = server.recv(std::span(heard).subspan(got)); n > 0) got += std::size_t(n), idle = 0;
    ASSERT_LE(got, sent);
  }
  EXPECT_TRUE(heard == bytes);
}

TEST_F(TlsStreamTest, it_may_arrive_byte_by_byte) {
  connect();
  ASSERT_TRUE(shake_hands());
  const Bytes bytes = pattern(700);
  ASSERT_EQ(client.send(bytes), 700);
  const Bytes ciphertext = take_ciphertext();
  Bytes heard(700);
  ssize_t got = -1;
  for (std::size_t i = 0; i < ciphertext.size(); ++i) {
    EXPECT_EQ(got, -1) << "before the record was whole";
    say(std::span(ciphertext).subspan(i, 1));
    got = server.recv(heard);
  }
  EXPECT_EQ(got, 700);
  EXPECT_TRUE(heard == bytes);
}

TEST_F(TlsStreamTest, an_altered_byte_fails_it_behind_what_was_whole) {
  for (const std::size_t at : {0u, 3u, 5u, 300u, 721u}) {
    SCOPED_TRACE(at);
    connect();
    ASSERT_TRUE(shake_hands());
    ASSERT_EQ(client.send(pattern(100)), 100);
    ASSERT_EQ(client.send(pattern(700)), 700);
    Bytes ciphertext = take_ciphertext();
    ASSERT_EQ(ciphertext.size(), 122u + 722);
    ciphertext[122 + at] ^= std::byte{0x40};
    say(ciphertext);
    Bytes heard(800);
    EXPECT_EQ(server.recv(heard), 100) << "the record before it";
    EXPECT_EQ(server.recv(heard), -1);
    EXPECT_EQ(errno, EBADMSG);
    ASSERT_TRUE(server.stream->failure());
    EXPECT_EQ(server.send(pattern(10)), -1) << "nothing more is said on it";
    EXPECT_EQ(server.recv(heard), -1);
    EXPECT_EQ(errno, EBADMSG);
    EXPECT_EQ(client.recv(heard), -1);
    EXPECT_EQ(errno, ECONNRESET) << "nothing that came here was wrong";
  }
}

TEST_F(TlsStreamTest, another_key_opens_neither) {
  connect(key_of(1), key_of(2));
  EXPECT_FALSE(shake_hands());
  EXPECT_FALSE(client.stream->open() || server.stream->open());
  EXPECT_TRUE(server.stream->failure());
  EXPECT_TRUE(client.stream->failure()) << "it heard an alert";
}

TEST_F(TlsStreamTest, noise_opens_nothing) {
  connect();
  const Bytes noise = pattern(5000);
  say(noise);
  std::byte none[1];
  EXPECT_EQ(server.recv(none), -1);
  EXPECT_EQ(errno, EBADMSG);
}

TEST_F(TlsStreamTest, keys_change_on_the_way) {
  connect(key_of(1), key_of(1), 50'000);
  ASSERT_TRUE(shake_hands());
  for (int i = 0; i < 3; ++i) {
    pass(client, server, pattern(500'000));
    pass(server, client, pattern(500'000));
  }
}

TEST_F(TlsStreamTest, the_peers_end_comes_behind_its_data_and_we_may_go_on) {
  connect();
  ASSERT_TRUE(shake_hands());
  ASSERT_EQ(client.send(pattern(100)), 100);
  ASSERT_EQ(::shutdown(client.fd.get(), SHUT_WR), 0);
  Bytes heard(200);
  EXPECT_EQ(server.recv(heard), 100);
  EXPECT_EQ(server.recv(heard), 0);
  EXPECT_EQ(server.recv(heard), 0);
  EXPECT_FALSE(server.stream->failure());
  pass(server, client, pattern(10'000));
}

TEST_F(TlsStreamTest, an_end_before_it_is_open_is_an_end) {
  connect();
  client.fd = OwnedFd();
  std::byte none[1];
  EXPECT_EQ(server.recv(none), 0);
  EXPECT_TRUE(server.stream->settled()) << "nothing that waits will ever go";
}

}  // namespace
}  // namespace railweave::wire
