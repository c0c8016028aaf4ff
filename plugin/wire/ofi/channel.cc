#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/channel.h"

#include <fmt/format.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "wire/ofi/failure.h"
#include "wire/ofi/peer_address.h"

namespace railweave::wire::ofi {

using message::Arrival;

OfiChannel::OfiChannel(std::shared_ptr<EndpointThread> thread, std::unique_ptr<Endpoint> endpoint, Port::Role role,
                       std::uint32_t token)
    : thread_(std::move(thread)), endpoint_(std::move(endpoint)), role_(role), token_(token) {
  to_post_.reserve(slots());
  for (std::uint32_t slot = 0; slot < slots(); ++slot) to_post_.push_back(slot);
  post_again();
}

OfiChannel::~OfiChannel() {
  if (thread_->in_child())
    (void)endpoint_.release();  // the endpoint is the parent's
  else
    thread_->close(std::move(endpoint_));
}

PeerAddress OfiChannel::own_address() const { return {token_, thread_->provider().name(), endpoint_->name()}; }

std::vector<std::byte> OfiChannel::address() const { return encode(own_address()); }

Status OfiChannel::connect(std::span<const std::byte> peer) {
  const std::uint32_t format = thread_->provider().info->addr_format;
  RW_ASSIGN_OR_RETURN(const PeerAddress address, decode_address(peer, own_address(), format));
  peer_token_ = address.token;
  const int inserted = fi_av_insert(endpoint_->addresses(), address.name.data(), 1, &peer_, 0, nullptr);
  if (inserted == 1 && peer_ != FI_ADDR_NOTAVAIL) return {};
  return Status(
      Code::remote, Scope::lane,
      fmt::format("provider {}: fi_av_insert does not take the peer's address: {}", thread_->provider().name(),
                  inserted < 0 ? thread_->library().error_text(inserted) : "refused"));
}

// The provider is kept going meanwhile, if it works only while its queue is read.
Result<bool> OfiChannel::is_connected() {
  (void)fi_cq_read(endpoint_->queue(), nullptr, 0);
  post_again();
  return has_failed() ? Result<bool>(failure_) : Result<bool>(true);
}

std::span<std::byte> OfiChannel::next_slot() {
  if (sent_ - left_ == slots()) return {};
  return endpoint_->slot(std::uint32_t(sent_ % slots()));
}

Result<bool> OfiChannel::send_as(std::size_t bytes, bool surely) {
  assert(!next_slot().empty() && bytes <= endpoint_->shape().slot_bytes);
  if (has_failed()) return failure_;
  if (role_ == Port::Role::acceptor && !has_heard_) return false;
  const auto slot = std::uint32_t(sent_ % slots());
  const ssize_t error = send_slot(slot, bytes, surely && may_lose_blocks());
  if (error == -FI_EAGAIN) return false;
  if (error != 0) {
    fail("fi_senddata", error);
    return failure_;
  }
  ++sent_;
  return true;
}

// Returns the library's answer. `surely`: otherwise than the endpoint's other sends.
ssize_t OfiChannel::send_slot(std::uint32_t slot, std::size_t bytes, bool surely) {
  std::byte* const from = endpoint_->slot(slot).data();
  void *key = endpoint_->memory_key(), *const context = endpoint_->context_of(slot);
  if (!surely) return fi_senddata(endpoint_->endpoint(), from, bytes, key, peer_token_, peer_, context);
  const iovec piece{from, bytes};
  fi_msg message{};
  message.msg_iov = &piece;
  message.desc = &key;
  message.iov_count = 1;
  message.addr = peer_;
  message.context = context;
  message.data = peer_token_;
  return fi_sendmsg(endpoint_->endpoint(), &message, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

// Posts a receive. False: not now, or the channel has failed.
bool OfiChannel::post(std::uint32_t receive_slot) {
  const std::uint32_t slot = slots() + receive_slot;
  const ssize_t error = fi_recv(endpoint_->endpoint(), endpoint_->slot(slot).data(), endpoint_->shape().slot_bytes,
                                endpoint_->memory_key(), FI_ADDR_UNSPEC, endpoint_->context_of(slot));
  if (error != 0 && error != -FI_EAGAIN) fail("fi_recv", error);
  return error == 0;
}

void OfiChannel::post_again() {
  while (!to_post_.empty() && !has_failed() && post(to_post_.back())) to_post_.pop_back();
}

Result<bool> OfiChannel::give_back(std::uint32_t index) {
  if (has_failed()) return failure_;
  const bool posted = post(index);
  return has_failed() ? Result<bool>(failure_) : Result<bool>(posted);
}

// What arrived is returned before an error.
Result<std::size_t> OfiChannel::poll(std::span<Arrival> arrivals) {
  std::array<fi_cq_data_entry, 16> done;
  std::size_t count = 0;
  post_again();
  while (count < arrivals.size()) {
    const std::size_t most = std::min(done.size(), arrivals.size() - count);
    const ssize_t n = fi_cq_read(endpoint_->queue(), done.data(), most);
    for (ssize_t i = 0; i < n; ++i) take(done[std::size_t(i)], arrivals, count);
    if (n == ssize_t(most)) continue;
    if (n > 0) break;  // there was no more: another look would cost a system call
    if (n != 0 && n != -FI_EAGAIN && n != -FI_EAVAIL) fail("fi_cq_read", n);
    if (n != -FI_EAVAIL) break;
    read_error();
  }
  return count > 0 || !has_failed() ? Result<std::size_t>(count) : Result<std::size_t>(failure_);
}

void OfiChannel::take(const fi_cq_data_entry& done, std::span<Arrival> arrivals, std::size_t& count) {
  const std::uint32_t slot = endpoint_->slot_of(done.op_context);
  if (slot < slots()) return has_left(slot);
  if (slot == endpoint_->all_slots() || done.len > endpoint_->shape().slot_bytes)
    return fail("fi_cq_read: no receive of ours", FI_EIO);
  const std::uint32_t received = slot - slots();
  if (!(done.flags & FI_REMOTE_CQ_DATA) || done.data != token_) return to_post_.push_back(received);
  has_heard_ = true;
  arrivals[count++] = {received, std::uint32_t(done.len)};
}

// Sends may be reported in any order. left_ counts the oldest ones.
void OfiChannel::has_left(std::uint32_t send_slot) {
  done_[send_slot] = true;
  for (; left_ < sent_ && done_[left_ % slots()]; ++left_) done_[left_ % slots()] = false;
}

void OfiChannel::read_error() {
  fi_cq_err_entry error{};
  const ssize_t n = fi_cq_readerr(endpoint_->queue(), &error, 0);
  if (n != 1) {
    if (n != -FI_EAGAIN) fail("fi_cq_readerr", n != 0 ? n : -FI_EIO);
    return;
  }
  const char* const operation = error.flags & FI_RECV ? "fi_recv" : "fi_senddata";
  const char* const detail = fi_cq_strerror(endpoint_->queue(), error.prov_errno, error.err_data, nullptr, 0);
  fail(fmt::format("{} (provider's error {}: {})", operation, error.prov_errno, detail ? detail : "no text").c_str(),
       error.err);
}

// A cancelled operation is the consequence of an error that may be reported later.
void OfiChannel::fail(const char* call, std::int64_t error) {
  const bool is_consequence = error == FI_ECANCELED || error == -FI_ECANCELED;
  if (has_failed() && (is_consequence || !is_consequence_)) return;
  is_consequence_ = is_consequence;
  failure_ = failure(thread_->library(), fmt::format("provider {}: {}", thread_->provider().name(), call), error);
  why_failed_ = lane_end_of(error);
}

bool OfiChannel::prepare_to_wait() {
  if (has_failed() || !to_post_.empty()) return false;
  if (endpoint_->descriptor() < 0) return true;  // the lane is polled by time
  fid* queue = &endpoint_->queue()->fid;
  const int error = fi_trywait(thread_->fabric(), &queue, 1);
  if (error != 0 && error != -FI_EAGAIN) fail("fi_trywait", error);
  return error == 0;
}

}  // namespace railweave::wire::ofi
#endif
