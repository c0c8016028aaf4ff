#if __has_include(<infiniband/verbs.h>)
#include "wire/verbs/queue_pair.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "wire/verbs/pinned_memory.h"

namespace railweave::wire::verbs {
namespace {

// The depth of a completion queue. A queue that overruns is lost, so each slot has an entry, and a few are spare.
constexpr int kCompletions = int(kSendSlots + kReceiveSlots) + 8;

Status creation_error(const QueuePair::Place& place, const char* call, int err) {
  const Status why = system_error(Scope::lane, fmt::format("device {}: {}", place.device, call), err);
  if (err != ENOMEM) return why;
  return Status(Code::exhausted, Scope::lane,
                fmt::format("{}; {}", why.message(), memlock_hint(place.host.memlock_bytes)), err);
}

// A peer whose host does not answer the kernel's address resolution is no failure of this host.
bool is_peers_failure(int err) { return err == ETIMEDOUT || err == EHOSTUNREACH || err == ENETUNREACH; }

std::uint32_t random_number() {
  std::uint32_t number = 0;
  const auto id = random_id();
  for (int i = 0; i < 4; ++i) number = number << 8 | id[std::size_t(i)];
  return number;
}

}  // namespace

Status QueuePair::make(const Place& place, std::unique_ptr<QueuePair>& made) {
  made.reset(new QueuePair(*place.host.api, place.port, place.device));
  const Status created = made->create(place);
  if (!created.ok() && made->destroy()) made.reset();
  return created;
}

Status QueuePair::create(const Place& place) {
  RW_ASSIGN_OR_RETURN(memory_, SlotMemory::allocate(kLaneBytes));
  RW_TRY(register_slots(place));
  RW_TRY(create_queues(place));
  RW_TRY(initialize(place));
  address.qpn = pair_->qp_num;
  address.psn = random_number() & kNumberMask;
  return {};
}

Status QueuePair::register_slots(const Place& place) {
  region_ = api_.reg_mr(place.domain, memory_.bytes().data(), memory_.bytes().size(), IBV_ACCESS_LOCAL_WRITE);
  if (region_) return {};
  return creation_error(place, "ibv_reg_mr of a lane's slots", errno);
}

Status QueuePair::create_queues(const Place& place) {
  notices_ = api_.create_comp_channel(place.context);
  if (!notices_) return creation_error(place, "ibv_create_comp_channel", errno);
  const int flags = ::fcntl(notices_->fd, F_GETFL);
  if (flags < 0 || ::fcntl(notices_->fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return creation_error(place, "fcntl of a completion channel", errno);
  RW_TRY(join_descriptors(place));
  completions_ = api_.create_cq(place.context, kCompletions, this, notices_, place.vector);
  if (!completions_) return creation_error(place, "ibv_create_cq", errno);
  ibv_qp_init_attr attributes{};
  attributes.qp_context = this;
  attributes.send_cq = attributes.recv_cq = completions_;
  attributes.cap.max_send_wr = kSendSlots;
  attributes.cap.max_recv_wr = kReceiveSlots;
  attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
  attributes.qp_type = IBV_QPT_RC;
  pair_ = api_.create_qp(place.domain, &attributes);
  return pair_ ? Status() : creation_error(place, "ibv_create_qp", errno);
}

Status QueuePair::join_descriptors(const Place& place) {
  failed_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  joined_.reset(::epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {notices_->fd, failed_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (!joined_ || ::epoll_ctl(joined_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return creation_error(place, "an epoll set of a lane", errno);
  }
  return {};
}

void QueuePair::mark_failed(ibv_event_type event) {
  event_.store(event + 1, std::memory_order_release);
  (void)::eventfd_write(failed_.get(), 1);
}

Status QueuePair::initialize(const Place& place) {
  RW_TRY(modify(to_init(port_), "INIT"));
  for (std::uint32_t i = 0; i < kReceiveSlots; ++i)
    if (const int err = post_receive(i); err != 0) return creation_error(place, "ibv_post_recv", err);
  return {};
}

int QueuePair::post_receive(std::uint32_t index) const {
  const std::span<std::byte> memory = receive_slot(index);
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory.data()), kSlotBytes, key()};
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = index;
  request.sg_list = &piece;
  request.num_sge = 1;
  return api_.post_recv(pair_, &request, &bad);
}

Status QueuePair::modify(const Transition& step, const char* state) {
  ibv_qp_attr attributes = step.attributes;
  const int err = api_.modify_qp(pair_, &attributes, step.mask);
  if (err == 0) return {};
  const Status why = system_error(
      Scope::lane, fmt::format("device {}: ibv_modify_qp of queue pair {} to {}", device_, pair_->qp_num, state), err);
  return is_peers_failure(err) ? Status(Code::remote, Scope::lane, why.message(), err) : why;
}

void QueuePair::connect(const Path& path, const ChannelAddress& peer) {
  Path labelled = path;
  labelled.flow_label = random_number() & 0xfffff;
  connected_ = modify(to_ready_to_receive(port_, labelled, peer), "RTR");
  if (connected_.ok()) connected_ = modify(to_ready_to_send(address.psn), "RTS");
  tried_.store(true, std::memory_order_release);
}

void QueuePair::fail_to_connect(const Status& why) {
  connected_ = why;
  tried_.store(true, std::memory_order_release);
}

// A device that is gone counts as one that has let go: the library then returns 0, or EIO.
bool QueuePair::destroy() {
  const auto ended = [this](const char* call, int err) {
    if (err == 0 || err == EIO) return true;
    RW_WARN(net, "verbs: device {}: {}: errno {}: {} bytes of slots stay", device_, call, err, memory_.bytes().size());
    return false;
  };
  if (unacknowledged_notices > 0) api_.ack_cq_events(completions_, std::exchange(unacknowledged_notices, 0));
  bool all = true;
  if (pair_) all = ended("ibv_destroy_qp", api_.destroy_qp(std::exchange(pair_, nullptr)));
  if (completions_ && all) all = ended("ibv_destroy_cq", api_.destroy_cq(std::exchange(completions_, nullptr)));
  if (notices_ && all) (void)api_.destroy_comp_channel(std::exchange(notices_, nullptr));
  if (region_ && all) all = ended("ibv_dereg_mr", api_.dereg_mr(std::exchange(region_, nullptr)));
  if (!all) memory_.abandon();
  memory_.reset();
  return all;
}

}  // namespace railweave::wire::verbs
#endif
