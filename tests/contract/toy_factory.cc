// A complete wire in one file: frames over the unix socket that the handshake would have used. It shows what a wire
// must implement (docs/internals/wire.md, "Adding a wire"). Only the contract suite uses it.
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/ascending_copy.h"
#include "base/error.h"
#include "tests/contract/lane_contract.h"
#include "wire/overlap.h"
#include "wire/port.h"

namespace railweave::wire::contract {
namespace {

class ToyLane final : public Lane {
 public:
  explicit ToyLane(OwnedFd socket) : socket_(std::move(socket)) {}

  Result<Moved> read(LaneHandler& handler, std::size_t budget_bytes) override {
    Moved moved;
    while (failure_.ok() && moved.bytes < budget_bytes && !moved.blocked)
      take_some(handler, budget_bytes - moved.bytes, moved);
    if (!failure_.ok()) return failure_;
    return moved;
  }

  Result<Moved> write(LaneHandler& handler) override {
    Moved moved;
    while (!moved.blocked && moved.bytes < 1 * MiB) {
      if (!frame_ && !take_frame(handler)) break;
      send_some(handler, moved);
    }
    if (finishing_ && !frame_) ::shutdown(descriptor(), SHUT_WR);
    return moved;
  }

  LaneEnd why_ended() const override { return why_ended_; }
  // Ends at the third call only, because a queue pair takes time, too.
  bool end() override { return ++asked_for_end_ > 2; }
  bool at_frame_boundary() const override { return !frame_; }

  bool withdraw_payload(std::span<const std::byte> range) override {
    if (!frame_ || !overlap(frame_->payload, range)) return true;
    kept_.assign(frame_->payload.begin(), frame_->payload.end());
    frame_->payload = kept_;
    return true;
  }
  void withdraw_target(std::span<const std::byte> range) override {
    if (place_ && overlap({place_, payload_left_}, range)) place_ = nullptr;
  }

  LaneHealth health() override {
    int unread = 0;
    // For a unix socket SIOCOUTQ counts the kernel's own structures, too. Only 0 shows what the peer has read.
    (void)::ioctl(descriptor(), SIOCOUTQ, &unread);
    if (unread == 0) acknowledged_bytes_ = sent_bytes_;
    return {taken_bytes_ - acknowledged_bytes_, acknowledged_bytes_, std::chrono::microseconds(5), Nanos{0}};
  }
  const std::shared_ptr<LaneMetrics>& metrics() const override { return metrics_; }
  Status finish_writing() override {
    finishing_ = true;
    if (!frame_) ::shutdown(descriptor(), SHUT_WR);
    return {};
  }
  int descriptor() const override { return socket_.get(); }

 private:
  void take_some(LaneHandler& handler, std::size_t budget, Moved& moved) {
    const bool in_header = header_have_ < kHeaderBytes;
    std::array<std::byte, 16 * KiB> bytes;
    const std::size_t wanted =
        in_header ? kHeaderBytes - header_have_ : std::min({payload_left_, budget, bytes.size()});
    const ssize_t n = ::recv(descriptor(), bytes.data(), wanted, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
      moved.blocked = true;
    } else if (n <= 0) {
      why_ended_ = n == 0 ? LaneEnd::closed : LaneEnd::reset;
      failure_ = Status(Code::remote, Scope::lane, n == 0 ? "toy: closed by the peer" : "toy: reset by the peer");
    } else {
      moved.bytes += std::size_t(n);
      failure_ = in_header ? take_header(handler, std::span(bytes).first(std::size_t(n)))
                           : take_payload(handler, std::span(bytes).first(std::size_t(n)));
    }
  }

  Status take_header(LaneHandler& handler, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, header_.begin() + std::ptrdiff_t(header_have_));
    header_have_ += bytes.size();
    if (header_have_ < kHeaderBytes) return {};
    RW_ASSIGN_OR_RETURN(const Target target, handler.header(header_));
    place_ = target.where.data();
    payload_left_ = target.where.size();
    return payload_left_ == 0 ? consume(handler) : Status();
  }

  Status take_payload(LaneHandler& handler, std::span<const std::byte> bytes) {
    if (place_) {
      ascending_copy(place_, bytes.data(), bytes.size());
      place_ += bytes.size();
    }
    payload_left_ -= bytes.size();
    metrics_->received.payload_bytes.add(bytes.size());
    return payload_left_ == 0 ? consume(handler) : Status();
  }

  Status consume(LaneHandler& handler) {
    header_have_ = 0;
    place_ = nullptr;
    metrics_->received.frames.add();
    return handler.consumed(header_);
  }

  bool take_frame(LaneHandler& handler) {
    OutFrame frame{};
    if (finishing_ || handler.next_frames({&frame, 1}) == 0) return false;
    frame_ = frame;
    header_sent_ = 0;
    taken_bytes_ += kHeaderBytes + frame.payload.size();
    return true;
  }

  void send_some(LaneHandler& handler, Moved& moved) {
    const bool in_header = header_sent_ < kHeaderBytes;
    const auto rest = in_header ? std::span<const std::byte>(frame_->header).subspan(header_sent_) : frame_->payload;
    const ssize_t n = rest.empty() ? 0
                                   : ::send(descriptor(), rest.data(), std::min<std::size_t>(rest.size(), 64 * KiB),
                                            MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {  // the socket is full, or broken, which read() reports
      moved.blocked = true;
      return;
    }
    moved.bytes += std::size_t(n);
    sent_bytes_ += std::uint64_t(n);
    if (in_header)
      header_sent_ += std::size_t(n);
    else
      send_payload(std::size_t(n));
    if (header_sent_ < kHeaderBytes || !frame_->payload.empty()) return;
    frame_.reset();
    metrics_->sent.frames.add();
    handler.written(1);
    handler.released(1);
  }

  void send_payload(std::size_t n) {
    frame_->payload = frame_->payload.subspan(n);
    metrics_->sent.payload_bytes.add(n);
  }

  OwnedFd socket_;
  const std::shared_ptr<LaneMetrics> metrics_ = std::make_shared<LaneMetrics>("toy", "toy", "near", "near");
  Status failure_;
  LaneEnd why_ended_ = LaneEnd::closed;
  int asked_for_end_ = 0;
  bool finishing_ = false;
  std::optional<OutFrame> frame_;  // taken, not completely sent; `payload` is the unsent rest
  std::vector<std::byte> kept_;    // copy of that rest after withdraw_payload()
  std::size_t header_sent_ = 0;    // bytes of the frame's header
  std::uint64_t taken_bytes_ = 0, sent_bytes_ = 0, acknowledged_bytes_ = 0;
  std::array<std::byte, kHeaderBytes> header_{};
  std::size_t header_have_ = 0;  // bytes of header_; kHeaderBytes: its payload is arriving
  std::byte* place_ = nullptr;   // place of the next payload byte; null: discarded
  std::size_t payload_left_ = 0;
};

// Both ends offer one byte and expect the other's. The third poll() returns the lane.
class PendingToyLane final : public PendingLane {
 public:
  Result<Offer> offer() override { return Offer{{std::byte{'t'}}}; }
  Status complete(Offer offer) override {
    heard_ = offer.bytes == std::vector<std::byte>{std::byte{'t'}};
    return heard_ ? Status() : Status(Code::remote, Scope::lane, "no toy's offer");
  }
  void start(Bootstrap bootstrap) override { socket_ = std::move(bootstrap.fd); }
  Result<std::unique_ptr<Lane>> poll() override {
    if (!heard_) return Status(Code::internal, Scope::lane, "a toy lane that heard no offer");
    if (++looks_ < 3) return std::unique_ptr<Lane>();
    return std::unique_ptr<Lane>(std::make_unique<ToyLane>(std::move(socket_)));
  }

 private:
  OwnedFd socket_ = OwnedFd();
  bool heard_ = false;
  int looks_ = 0;
};

class ToyPort final : public Port {
 public:
  Result<std::unique_ptr<PendingLane>> begin_lane(Role) override {
    return std::unique_ptr<PendingLane>(std::make_unique<PendingToyLane>());
  }
};

class ToyWire final : public Wire {
 public:
  std::string_view name() const override { return "toy"; }
  Reach reach() const override { return Reach::within_host; }
  Result<std::unique_ptr<Port>> open(const Rail*, const Config&) const override {
    return std::unique_ptr<Port>(std::make_unique<ToyPort>());
  }
};

const ToyWire toy_wire;
const RegisteredFactories registered({{"toy", [] { return connect_over_unix_socket(toy_wire); }}});

}  // namespace
}  // namespace railweave::wire::contract
