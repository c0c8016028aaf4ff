#include "wire/bootstrap/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace railweave::wire {
namespace {

Status no_memory() {
  ERR_clear_error();
  return Status(Code::exhausted, Scope::lane, "OpenSSL could not begin a connection, most likely for want of memory");
}

}  // namespace

// -------------------------------------------------------------------- OpenSSL's access to the stream's buffers

int TlsStream::bio_write(bio_st* bio, const char* bytes, int size) {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (std::size_t(size) > kOutBytes - self.out_end_) {
    BIO_set_retry_write(bio);
    return -1;
  }
  std::memcpy(self.out_.get() + self.out_end_, bytes, std::size_t(size));
  self.out_end_ += std::size_t(size);
  return size;
}

int TlsStream::bio_read(bio_st* bio, char* room, int size) {
  auto& self = *static_cast<TlsStream*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const std::size_t n = std::min(std::size_t(size), self.in_end_ - self.in_begin_);
  if (n == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(room, self.in_.get() + self.in_begin_, n);
  self.in_begin_ += n;
  return int(n);
}

const bio_method_st* TlsStream::bio_method() {
  static const bio_method_st* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "lane");
    if (!made) return made;
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH; });
    return made;
  }();
  return method;
}

Result<std::unique_ptr<TlsStream>> TlsStream::make(TlsEnd end, std::span<const std::byte, kTlsKeyBytes> key,
                                                   std::uint64_t update_bytes) {
  std::unique_ptr<TlsStream> stream(new TlsStream(update_bytes));
  std::ranges::copy(key, stream->key_.begin());
  stream->out_ = std::make_unique_for_overwrite<std::byte[]>(kOutBytes);
  stream->in_ = std::make_unique_for_overwrite<std::byte[]>(kInBytes);
  stream->record_ = std::make_unique_for_overwrite<std::byte[]>(kRecordBytes);
  stream->ssl_ = new_tls_connection(end, stream->key_);
  BIO* const bio = stream->ssl_ && bio_method() ? BIO_new(bio_method()) : nullptr;
  if (!bio) return no_memory();
  BIO_set_data(bio, stream.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl_, bio, bio);
  stream->shake();
  return stream;
}

TlsStream::~TlsStream() {
  SSL_free(ssl_);
  OPENSSL_cleanse(key_.data(), key_.size());
}

// ------------------------------------------------------------------------------------------------- handshake

void TlsStream::shake() {
  if (open_ || over()) return;
  ERR_clear_error();
  if (const int done = SSL_do_handshake(ssl_); done != 1) note(SSL_get_error(ssl_, done));
  note_open();
}

void TlsStream::note_open() {
  if (open_ || over() || !SSL_is_init_finished(ssl_)) return;
  OPENSSL_cleanse(key_.data(), key_.size());
  SSL_set_app_data(ssl_, nullptr);
  // Without certificates no handshake can succeed without the key. This check repeats that, because all security
  // depends on the key.
  open_ = SSL_session_reused(ssl_) == 1;
  if (!open_) failure_ = "a handshake without the key";
}

void TlsStream::note(int outcome) {
  if (outcome == SSL_ERROR_WANT_READ || outcome == SSL_ERROR_WANT_WRITE) return;
  if (outcome == SSL_ERROR_ZERO_RETURN) {
    ended_ = true;
  } else if (!failure_) {
    const int why = ERR_GET_REASON(ERR_peek_error());
    alerted_ = why > SSL_AD_REASON_OFFSET && why <= SSL_AD_REASON_OFFSET + 255;  // codes of the peer's alerts
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    failure_ = reason ? reason : "an error without a name";
  }
  ERR_clear_error();
}

bool TlsStream::advance(int fd, Counter& calls) {
  shake();
  return (batch_ > 0 || !pending() || flush(fd, calls)) && open_ && !failure_;
}

// --------------------------------------------------------------------------------------------------- sending

// Sends pending ciphertext. False: ciphertext is left, and errno has the cause.
bool TlsStream::flush(int fd, Counter& calls) {
  while (pending()) {
    const ssize_t n = ::send(fd, out_.get() + out_begin_, out_end_ - out_begin_, MSG_NOSIGNAL | MSG_DONTWAIT);
    calls.add(1);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    out_begin_ += std::size_t(n);
  }
  if (batch_ == 0) out_begin_ = out_end_ = 0;
  return true;
}

// Returns the plaintext bytes of the records that entered the kernel completely since the last call.
std::size_t TlsStream::count() {
  std::size_t bytes = 0;
  for (; records_begin_ < records_end_ && records_[records_begin_].end <= out_begin_; ++records_begin_) {
    bytes += records_[records_begin_].plain_bytes;
    counted_end_ = records_[records_begin_].end;
  }
  batch_ -= bytes;
  if (batch_ == 0) records_begin_ = records_end_ = counted_end_ = 0;
  if (batch_ == 0 && !pending()) out_begin_ = out_end_ = 0;
  return bytes;
}

ssize_t TlsStream::send(int fd, std::span<const iovec> pieces, Counter& calls) {
  bool flushed = flush(fd, calls);
  if (flushed && batch_ == 0 && open_ && !failure_) {
    encrypt(pieces);
    flushed = flush(fd, calls);
  }
  const int why = flushed ? EAGAIN : errno;
  if (const std::size_t bytes = count(); bytes > 0) return ssize_t(bytes);  // the next call meets the same error
  errno = why;
  return -1;
}

// Encrypts `pieces` into full records. A large piece is read in place; small pieces are gathered first.
void TlsStream::encrypt(std::span<const iovec> pieces) {
  std::size_t skip = 0;  // bytes taken of the first piece
  const auto rest = [&] {
    return std::span(static_cast<const std::byte*>(pieces.front().iov_base), pieces.front().iov_len).subspan(skip);
  };
  const auto take = [&](std::size_t n) {
    skip += n;
    if (skip < pieces.front().iov_len) return;
    pieces = pieces.subspan(1);
    skip = 0;
  };
  while (!pieces.empty() && batch_ + kRecordBytes <= kBatchBytes) {
    if (rest().size() >= kRecordBytes) {
      if (!encrypt_record(rest().first(kRecordBytes))) return;
      take(kRecordBytes);
      continue;
    }
    std::size_t gathered = 0;
    while (!pieces.empty() && gathered < kRecordBytes) {
      const std::size_t n = std::min(rest().size(), kRecordBytes - gathered);
      if (n > 0) std::memcpy(record_.get() + gathered, rest().data(), n);
      gathered += n;
      take(n);
    }
    if (gathered > 0 && !encrypt_record({record_.get(), gathered})) return;
  }
}

bool TlsStream::encrypt_record(std::span<const std::byte> plain) {
  ERR_clear_error();
  if (since_update_ >= update_bytes_ && SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) == 1) since_update_ = 0;
  std::size_t n = 0;
  const int written = SSL_write_ex(ssl_, plain.data(), plain.size(), &n);
  if (written != 1 || n != plain.size()) {
    note(SSL_get_error(ssl_, written));
    if (!failure_) failure_ = "a record found no room";
    return false;
  }
  since_update_ += n;
  batch_ += n;
  records_[records_end_++] = {n, out_end_};
  return true;
}

// ------------------------------------------------------------------------------------------------- receiving

std::size_t TlsStream::decrypt(std::span<std::byte> room) {
  if (over()) return 0;
  ERR_clear_error();
  std::size_t n = 0;
  const int read = SSL_read_ex(ssl_, room.data(), room.size(), &n);
  if (read != 1) {
    n = 0;
    note(SSL_get_error(ssl_, read));
  }
  note_open();
  return n;
}

// Reads ciphertext from the socket. REQUIRES: in_ is used up. False: the socket is empty, has ended or failed.
bool TlsStream::fill(int fd, Counter& calls) {
  ssize_t n;
  do {
    n = ::recv(fd, in_.get(), kInBytes, MSG_DONTWAIT);
    calls.add(1);
  } while (n < 0 && errno == EINTR);
  in_begin_ = 0;
  in_end_ = std::size_t(std::max<ssize_t>(n, 0));
  ended_ = ended_ || n == 0;
  if (n < 0 && errno != EAGAIN) input_error_ = errno;
  return in_end_ == kInBytes;
}

ssize_t TlsStream::recv(int fd, std::span<const iovec> pieces, LaneCounters& received, LaneCounters& sent) {
  std::size_t got = 0;
  bool more = true;  // the socket may have more
  for (const iovec& piece : pieces) {
    const std::span room(static_cast<std::byte*>(piece.iov_base), piece.iov_len);
    std::size_t at = 0;
    while (at < room.size()) {
      const std::size_t n = decrypt(room.subspan(at));
      at += n;
      if (n > 0) continue;
      if (!more || over() || input_error_ != 0) break;
      more = fill(fd, received.calls);
    }
    got += at;
    if (at < room.size()) break;
  }
  if (pending() && batch_ == 0) {
    const int before = errno;
    (void)flush(fd, sent.calls);  // send() meets the same error
    errno = before;
  }
  if (got > 0) return ssize_t(got);
  if (failure_) return errno = alerted_ ? ECONNRESET : EBADMSG, -1;
  if (input_error_ != 0) return errno = input_error_, -1;
  if (ended_) return 0;
  return errno = EAGAIN, -1;
}

}  // namespace railweave::wire
