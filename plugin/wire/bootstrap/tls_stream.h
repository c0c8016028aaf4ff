// A TlsStream encrypts between a lane's frames and its socket (docs/operate/encryption.md). The lane owns the socket,
// and passes it to each call.
//
//   handshaking ──> open ──> failed       A failed stream moves no bytes. recv() first returns all bytes before the
//                                         failure, then the error.
//
// send() and recv() return what sendmsg() and recvmsg() return, errno included. No call waits.
// Threads: one at a time, as for the lane.
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
  // Bytes that one traffic key encrypts, in each direction, before a key update.
  static constexpr std::uint64_t kUpdateBytes = std::uint64_t{64} << 30;

  // `key`: used for this connection only. The stream's copy is wiped after the handshake. Errors: Code::exhausted.
  static Result<std::unique_ptr<TlsStream>> make(TlsEnd end, std::span<const std::byte, kTlsKeyBytes> key,
                                                 std::uint64_t update_bytes = kUpdateBytes);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;
  ~TlsStream();

  // Returns the plaintext bytes whose records are completely in the kernel. From then on the peer may answer them, so
  // each frame that the peer reads has been counted. A count below the size of `pieces` does not mean a full kernel.
  // EAGAIN: bytes are left, or the stream is not open. The next call's `pieces` must begin with the first uncounted
  // byte.
  ssize_t send(int fd, std::span<const iovec> pieces, Counter& calls);
  // Returns plaintext bytes; 0: the peer's end. Fewer bytes than `pieces` have room for: the socket is empty, and the
  // stream holds no complete record.
  // EBADMSG: the stream failed at this end. ECONNRESET: the stream failed at the peer, which sent an alert.
  // Also sends handshake bytes if no frames wait before them.
  ssize_t recv(int fd, std::span<const iovec> pieces, LaneCounters& received, LaneCounters& sent);
  // Advances the handshake as far as this end can. True: the stream is open, and nothing waits before the frames.
  bool advance(int fd, Counter& calls);

  bool open() const { return open_; }
  // Ciphertext waits for room in the kernel.
  bool pending() const { return out_begin_ < out_end_; }
  // No bytes wait, or those that wait can never leave. An open stream stays writable after the peer's end.
  bool settled() const { return failure_ || (open_ ? !pending() : ended_); }
  // The cause of the failure as OpenSSL names it, static text; null: no failure.
  const char* failure() const { return failure_; }
  // Bytes of ciphertext in the kernel whose plaintext send() has not counted yet.
  std::uint64_t uncounted_bytes() const { return batch_ > 0 ? out_begin_ - counted_end_ : 0; }

 private:
  static constexpr std::size_t kRecordBytes = 16 * KiB;
  static constexpr std::size_t kBatchBytes = 128 * KiB;
  static constexpr std::size_t kOutBytes = kBatchBytes + 8 * KiB;  // for record overhead, a handshake flight, an alert
  static constexpr std::size_t kInBytes = 64 * KiB;

  struct Record {
    std::size_t plain_bytes, end;  // end: offset in out_ behind the record's ciphertext
  };

  explicit TlsStream(std::uint64_t update_bytes) : update_bytes_(update_bytes) {}

  static const bio_method_st* bio_method();
  static int bio_write(bio_st* bio, const char* bytes, int size);
  static int bio_read(bio_st* bio, char* room, int size);

  bool over() const { return failure_ != nullptr || ended_; }  // nothing more can be read
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
  TlsKey key_{};  // zeroes once the stream is open
  ssl_st* ssl_ = nullptr;
  bool open_ = false, ended_ = false;
  bool alerted_ = false;  // the peer reported the failure by an alert: no record that arrived here was bad
  const char* failure_ = nullptr;
  int input_error_ = 0;  // errno of a failed recv(), returned after the bytes before it; 0: none

  // The records in out_. Only send() writes the ciphertext of frames, so each record is counted before the next read.
  std::size_t batch_ = 0;  // plaintext bytes in these records, not counted yet
  std::array<Record, kBatchBytes / kRecordBytes> records_{};
  std::size_t records_begin_ = 0, records_end_ = 0;
  std::size_t counted_end_ = 0;                     // offset in out_ behind the last counted record
  std::uint64_t since_update_ = 0;                  // plaintext bytes encrypted since the last key update
  std::size_t out_begin_ = 0, out_end_ = 0;         // ciphertext in out_ that the kernel has not taken
  std::size_t in_begin_ = 0, in_end_ = 0;           // ciphertext in in_ that OpenSSL has not read
  std::unique_ptr<std::byte[]> out_, in_, record_;  // record_: gathers small pieces into one record
};

}  // namespace railweave::wire
