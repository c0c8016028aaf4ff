// TLS between a lane's frames and its socket (docs/operate/encryption.md). The socket is the lane's: each call is told
// which.
//
//   handshaking ──> open ──> failed       a failed stream moves nothing more; recv() says so after all that came before
//
// send() and recv() answer as sendmsg() and recvmsg() do, errno included. Threads: as the lane's, one at a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "railweave/status.h"
#include "railweave/units.h"
#include "wire/bootstrap/tls_context.h"
#include "wire/lane_metrics.h"

struct bio_st;
struct bio_method_st;
struct iovec;

namespace railweave::wire {

class TlsStream {
 public:
  // What one key encrypts, each way.
  static constexpr std::uint64_t kUpdateBytes = std::uint64_t{64} << 30;

  // `key`: of this connection alone; it is wiped once the handshake is over. Errors: Code::exhausted.
  static Result<std::unique_ptr<TlsStream>> make(TlsEnd end, std::span<const std::byte, kTlsKeyBytes> key,
                                                 std::uint64_t update_bytes = kUpdateBytes);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;
  ~TlsStream();

  // Counts bytes as soon as the record that has them is in the kernel, for then the peer may answer them: whatever it
  // reads of frames has been counted. EAGAIN: something is left, and the next call's `pieces` begin with the bytes that
  // were not counted; or the stream is not open. Fewer than `pieces` have does not mean that the kernel is full.
  ssize_t send(int fd, std::span<const iovec> pieces, Counter& calls);
  // Fewer bytes than `pieces` have room for: the socket was emptied, and nothing whole is left here. 0: the peer's end.
  // EBADMSG: failed;
  // ECONNRESET: the peer says that it failed there.
  // Sends what the handshake owes where no frames wait before it. Never waits.
  ssize_t recv(int fd, std::span<const iovec> pieces, LaneCounters& received, LaneCounters& sent);
  // Goes on with the handshake as far as it depends on us. True: open, and nothing waits but frames and what is behind
  // them.
  bool advance(int fd, Counter& calls);

  bool open() const { return open_; }
  // Ciphertext waits for room.
  bool pending() const { return out_begin_ < out_end_; }
  // Nothing waits, or nothing that waits will ever go. The peer's end alone does not keep us from writing.
  bool settled() const { return failure_ || (open_ ? !pending() : ended_); }
  // Why it failed, in OpenSSL's words; null: it did not. Static text.
  const char* failure() const { return failure_; }
  // Ciphertext in the kernel of bytes that send() has not counted yet.
  std::uint64_t uncounted_bytes() const { return batch_ > 0 ? out_begin_ - counted_end_ : 0; }

 private:
  static constexpr std::size_t kRecordBytes = 16 * KiB;
  static constexpr std::size_t kBatchBytes = 128 * KiB;
  static constexpr std::size_t kOutBytes = kBatchBytes + 8 * KiB;  // records' overhead, a handshake's flight, an alert
  static constexpr std::size_t kInBytes = 64 * KiB;

  struct Record {
    std::size_t plain_bytes, end;  // end: of its ciphertext, in out_
  };

  explicit TlsStream(std::uint64_t update_bytes) : update_bytes_(update_bytes) {}

  static const bio_method_st* bio_method();
  static int bio_write(bio_st* bio, const char* bytes, int size);
  static int bio_read(bio_st* bio, char* room, int size);

  bool over() const { return failure_ != nullptr || ended_; }  // for reading
  void shake();
  bool flush(int fd, Counter& calls);
  std::size_t count();
  bool fill(int fd, Counter& calls);
  void encrypt(std::span<const iovec> pieces);
  bool encrypt_record(std::span<const std::byte> plain);
  std::size_t decrypt(std::span<std::byte> room);
  void note(int outcome);
  void note_open();

  const std::uint64_t update_bytes_;
  TlsKey key_{};  // zeroes once it is open
  ssl_st* ssl_ = nullptr;
  bool open_ = false, ended_ = false;
  bool alerted_ = false;  // the peer told of the failure: nothing that came here was wrong
  const char* failure_ = nullptr;
  int input_error_ = 0;  // an errno that recv() met behind bytes it could give out

  // Frames in the ciphertext at hand. Only send() writes frames, so that each record is counted before anything is read
  // again.
  std::size_t batch_ = 0;  // plaintext bytes that were not counted yet
  std::array<Record, kBatchBytes / kRecordBytes> records_{};
  std::size_t records_begin_ = 0, records_end_ = 0;
  std::size_t counted_end_ = 0;  // of the last record that was counted, in out_
  std::uint64_t since_update_ = 0;
  std::size_t out_begin_ = 0, out_end_ = 0;
  std::size_t in_begin_ = 0, in_end_ = 0;
  std::unique_ptr<std::byte[]> out_, in_, record_;
};

}  // namespace railweave::wire
