#include "engine/api/host_engine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>

#include "base/address_text.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/scope_exit.h"
#include "base/without_memory.h"
#include "discovery/devices.h"
#include "discovery/host_view.h"
#include "discovery/rails.h"
#include "engine/api/endpoints.h"
#include "engine/session/shutdown.h"
#include "wire/bootstrap/socket.h"

namespace railweave {

Result<std::shared_ptr<Engine>> Engine::start(const Config& config) {
  Result<discovery::Discovered> found = discovery::discover_rails(config, *discovery::this_host());
  if (!found.ok()) return found.status();
  std::vector<Device> devices = discovery::make_devices(found->taken, config.devices);
  std::shared_ptr<engine::HostEngine> engine(
      new engine::HostEngine(config, std::move(found->taken), std::move(devices)), [](engine::HostEngine* e) {
        if (!e->forked()) delete e;
      });
  if (Status s = engine->start(); !s.ok()) return s;
  return std::shared_ptr<Engine>(std::move(engine));
}

}  // namespace railweave

namespace railweave::engine {
namespace {

constexpr std::size_t kUnacceptedBytesMax = 256 * MiB;       // for slots of streams that are not accepted yet
constexpr Nanos kWarnUnusedAgain = std::chrono::minutes(1);  // between two WARN lines (warns_of_unused())

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + " pid " + std::to_string(getpid());
}

}  // namespace

HostEngine::HostEngine(const Config& config, std::vector<Rail> rails, std::vector<Device> devices)
    : config_(config),
      rails_(std::move(rails)),
      devices_(std::move(devices)),
      listeners_(kUnacceptedBytesMax / (protocol::kEagerSlots * std::max<std::size_t>(config.eager_limit_bytes, 1))),
      own_rails_(config_, reactor_, rails_),
      directory_(reactor_, self_, ended_,
                 [this](const PeerKey& key, const Hello& welcome, std::uint64_t serial, NewLane lane,
                        SessionDirectory::Waiters waiters) {
                   on_welcome(key, welcome, serial, std::move(lane), std::move(waiters));
                 }),
      peer_sessions_(reactor_, own_rails_),
      acceptor_(reactor_, self_, own_rails_, directory_, peer_sessions_.logged_absences(), *this),
      unix_listener_(reactor_),
      stats_endpoint_(reactor_),
      idle_sessions_(reactor_) {
  (void)out_of_memory();  // allocates its Status while there is memory
  self_.instance = random_id();
  self_.name = own_name();
  self_.rails = &own_rails_.now();
  self_.announced = &own_rails_.with_ports();
  self_.config = &config_;
  self_.wires = &own_rails_.wires();
}

Status HostEngine::read_key() {
  if (config_.encrypt && config_.key_file.empty())
    return Status(Code::invalid_config, Scope::engine,
                  "RAILWEAVE_ENCRYPT is on, RAILWEAVE_KEY_FILE is empty, expected the file of a key to encrypt by");
  if (!config_.key_file.empty()) {
    RW_ASSIGN_OR_RETURN(key_, SharedKey::read(config_.key_file));
    self_.key = &*key_;
    return {};
  }
  static std::atomic<bool> said{false};  // one line a process
  const bool reachable = std::ranges::any_of(rails_, [](const Rail& rail) { return !rail.loopback; });
  if (reachable && !said.exchange(true))
    RW_INFO(init, "there is no RAILWEAVE_KEY_FILE: anyone on the network may connect");
  return {};
}

Status HostEngine::start() {
  RW_TRY(read_key());
  RW_TRY(own_rails_.wires().check());
  RW_TRY(own_rails_.open());
  if (config_.shm.value_or(false))
    if (Status s = unix_listener_.open(local_name(self_.instance)); !s.ok())
      RW_WARN(net, "no shared memory: {}", s.message());
  RW_TRY(reactor_.start());
  reactor_.run_soon([this] { serve(); });
  return {};
}

void HostEngine::serve() {
  until_memory([this] {
    const Status local = unix_listener_.serve([this](OwnedFd fd) { acceptor_.on_local_connection(std::move(fd)); });
    if (!local.ok()) RW_WARN(net, "no shared memory: {}", local.message());
  });
  own_rails_.serve([this](wire::Accepted accepted, int rail) { acceptor_.on_connection(std::move(accepted), rail); },
                   {.on_link = [this](int rail, bool up) { peer_sessions_.on_link(rail, up); },
                    .on_rail = [this](int rail) { peer_sessions_.on_own_rail(rail); },
                    .on_news = [this](int rail) { peer_sessions_.announce_rail(rail); }});
  stats_endpoint_.open(config_.stats_dir, stats().instance, [this] { return stats(); });
}

// ------------------------------------------------------------------------------------------------------------- the end

HostEngine::~HostEngine() {
  try {
    if (reactor_.running())
      shut_down(
          reactor_, [this] { return stop_all(); },
          [this] {
            peer_sessions_.clear();
            close_all_lanes();
          });
  } catch (const std::bad_alloc&) {
    RW_WARN(net, "no memory for a GOODBYE: peers notice the end of this process by their timeout");
  }
  reactor_.stop();
  close_all_lanes();
  listeners_.close_all();
  directory_.fail_all();
}

// Stops everything except the sessions and their watches. Returns the sessions.
std::vector<std::shared_ptr<Session>> HostEngine::stop_all() {
  own_rails_.close();
  unix_listener_.close();
  stats_endpoint_.close();
  accounts_.clear();
  acceptor_.stop();
  idle_sessions_.stop();
  peer_sessions_.stop_reconciling();
  directory_.stop_dialling();
  return directory_.sessions();
}

// Walks by key: a copy of the table would need memory.
void HostEngine::close_all_lanes() {
  std::optional<PeerKey> after;
  while (const std::shared_ptr<Session> session = directory_.next(after)) session->close_lanes();
}

// ----------------------------------------------------------------------------------------------------------- endpoints

Status HostEngine::check_device(int device) const {
  if (device >= 0 && device < int(devices_.size())) return {};
  return Status(Code::invalid_argument, Scope::request,
                "device " + std::to_string(device) + ", expected 0 to " + std::to_string(devices_.size() - 1));
}

std::uint64_t HostEngine::rail_mask(int device) const {
  if (config_.devices == DeviceModel::aggregate) return ~std::uint64_t{0};  // includes rails that come later
  std::uint64_t mask = 0;
  for (int rail : devices_[std::size_t(device)].rails) mask |= std::uint64_t{1} << rail;
  return mask;
}

// Returns the addresses of the device's own rails, so that each of several devices is reached by its own rails. If
// these rails have no addresses, returns those of all rails. Link-local addresses are valid on one link only. They come
// last: a handle has room for few addresses.
std::vector<PeerAddress> HostEngine::addresses_of(int device) const {
  const std::vector<PeerRail> announced = own_rails_.announced();
  std::vector<PeerAddress> addresses;
  for (int rail : devices_[std::size_t(device)].rails)
    for (const PeerAddress& a : announced[std::size_t(rail)].addresses) addresses.push_back(a);
  if (addresses.empty())  // other rails have these addresses now
    for (const PeerRail& rail : announced)
      addresses.insert(addresses.end(), rail.addresses.begin(), rail.addresses.end());
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const PeerAddress& a) { return !discovery::is_link_local(a.address); });
  return addresses;
}

Result<std::unique_ptr<Listener>> HostEngine::listen(int device, Handle& handle) {
  if (forked()) return dead_after_fork();
  RW_TRY(check_device(device));
  std::shared_ptr<ListenQueue> queue = listeners_.add(rail_mask(device));
  handle = encode_handle({self_.instance, queue->id(), addresses_of(device)});
  return std::unique_ptr<Listener>(std::make_unique<EngineListener>(shared_from_this(), std::move(queue)));
}

Result<std::unique_ptr<Connector>> HostEngine::connect(int device, const Handle& handle, int traffic_class,
                                                       Priority priority) {
  if (forked()) return dead_after_fork();
  RW_TRY(check_device(device));
  RW_ASSIGN_OR_RETURN(HandleContent peer, decode_handle(handle));
  if (traffic_class < 0) traffic_class = std::max(config_.traffic_class, 0);
  std::string name = to_string(peer.addresses.front().address);
  auto pending = std::make_shared<PendingStream>(std::move(peer), traffic_class, rail_mask(device), priority,
                                                 now() + config_.connect_timeout);
  directory_.open(pending);
  return std::unique_ptr<Connector>(
      std::make_unique<EngineConnector>(shared_from_this(), std::move(pending), std::move(name)));
}

EngineStats HostEngine::stats() const {
  EngineStats stats;
  stats.instance = hex(self_.instance);
  stats.rails = own_rails_.stats();
  for (const auto& session : directory_.sessions()) stats.sessions.push_back(session->stats());
  return stats;
}

// ------------------------------------------------------------------------------------------------------- session owner

void HostEngine::on_woken(Session& session, const SessionWants& wants) {
  if (wants.retire) return retire(session.shared_from_this());
  PeerSession* const its = peer_sessions_.find(session);
  if (!its) return;
  (void)session.guarded([&] {
    if (wants.poll) its->watch->poll();
    if (wants.apply_rails) its->apply_rails();
    if (wants.lanes) its->on_lane_wanted();
  });
}

bool HostEngine::warns_of_unused() {
  TimePoint before = warned_unused_.load(std::memory_order_relaxed);
  if (before != TimePoint{} && now() - before < kWarnUnusedAgain) return false;
  return warned_unused_.compare_exchange_strong(before, now(), std::memory_order_relaxed);
}

bool HostEngine::may_warn_of_silence(bool is_silent) {
  return peer_sessions_.warn_budget().may_warn(
      RailWarnBudget::kNoRail, is_silent ? RailWarnBudget::About::loss : RailWarnBudget::About::comeback, now());
}

// ---------------------------------------------------------------------------------------------------- reactor's thread

PeerSession& HostEngine::add_session(const PeerKey& key, const Hello& peer, std::uint64_t serial, NewLane lane,
                                     SessionDirectory::Waiters waiters) {
  const bool by_rails = lane.by_rails;
  std::shared_ptr<Session> session;
  ScopeExit broken([&] {  // without memory: a session left half made would block the peer's next session for ever
    for (const auto& waiter : waiters) waiter->fail(out_of_memory());
    if (session) session->fail(out_of_memory());
  });
  session = std::make_shared<Session>(config_, static_cast<SessionOwner&>(*this), peer.peer, serial,
                                      lane.session_secret, by_rails);
  if (const auto old = directory_.put(key, session)) retire(old);
  PeerSession& its = peer_sessions_.add(session, by_rails);
  for (const int down : own_rails_.down()) session->set_link(down, false);
  const std::string rail = by_rails ? own_rails_.at(lane.rails.local).name : "shm";
  add_lane(*session, std::move(lane));
  for (int i = 0; by_rails && i < int(own_rails_.now().size()); ++i)  // the rails in the handshake may be out of date
    if (own_rails_.has_news(i)) session->announce_rail(own_rails_.news_of(i));
  broken.dismiss();
  for (auto& waiter : waiters) session->open(waiter);
  RW_INFO(net, "session with {} over {}", peer.peer, rail);
  its.watch->poll();
  directory_.yield_other_dial(key, serial);
  return its;
}

void HostEngine::on_welcome(const PeerKey& key, const Hello& welcome, std::uint64_t serial, NewLane lane,
                            SessionDirectory::Waiters waiters) {
  const bool by_rails = lane.by_rails;
  const RailPair rails = lane.rails;
  const int dialled_rail = lane.dialled_rail;
  PeerSession& its = add_session(key, welcome, serial, std::move(lane), std::move(waiters));
  if (!by_rails) return;
  assert(!its.reconciler && !its.probe && its.absent_rails);
  (void)its.session->guarded([&] {  // without a reconciler the session would get no more lanes
    const LaneReconciler::Options options{config_.lanes_per_rail, [] { return int(random_id()[0]); }};
    its.reconciler = std::make_unique<LaneReconciler>(give_dialler(its, key), options, welcome.rails,
                                                      LaneReconciler::FirstLane{rails, dialled_rail},
                                                      peer_sessions_.logged_absences());
    its.absent_rails->know(its.reconciler->failures(), its.reconciler->peer_rails());
    its.reconciler->poll();
  });
}

void HostEngine::accept_session(const Hello& first, NewLane lane) {
  const bool by_rails = lane.by_rails;
  const PeerKey key = key_of_dialler(self_, first);
  PeerSession& its = add_session(key, first, first.session, std::move(lane), {});
  (void)its.session->guarded([&] {  // without a probe and an idle record the session could stay for ever
    if (by_rails) its.probe = std::make_unique<PeerProbe>(give_dialler(its, key), first.rails);
    idle_sessions_.add(its.session);
  });
}

SessionAccess HostEngine::give_dialler(PeerSession& its, const PeerKey& key) {
  its.dialler =
      std::make_unique<RailDialler>(reactor_, self_, key.peer, key.traffic_class, *its.session,
                                    [this](Session& session, NewLane lane) { add_lane(session, std::move(lane)); });
  return {reactor_, *its.dialler, its.session->lanes(), own_rails_.now()};
}

void HostEngine::add_lane(Session& session, NewLane lane) {
  if (session.over()) return;  // the session's lanes are closed already, and no call would close this one
  (void)session.guarded([&] {  // a missing lane must not go unnoticed: the peer counts on the lane
    const bool doubtful = lane.doubtful || wire::has_retransmitted(lane.bootstrap.fd.get());
    log_lane(session, lane);
    std::unique_ptr<wire::PendingLane> pending = lane.begun.take_agreed();
    pending->start(std::move(lane.bootstrap));
    session.begin_lane(lane.id, lane.rails, std::move(pending), doubtful);
    if (const PeerSession* const its = peer_sessions_.find(session)) its->watch->poll();
  });
}

std::unique_ptr<LaneCredit> HostEngine::credit_on(int rail) {
  const Rail& its = own_rails_.at(rail);
  const auto [account, is_new] = accounts_.try_emplace(its.ifindex, reactor_, its.ifindex);
  if (is_new) account->second.open();
  return std::make_unique<LaneCredit>(account->second.account(), its.speed_known ? its.speed : Rate{});
}

void HostEngine::on_lane_came(std::shared_ptr<Session> session) {
  if (PeerSession* const its = peer_sessions_.find(*session)) its->on_lane();
}

void HostEngine::log_lane(const Session& session, const NewLane& lane) const {
  if (!lane.by_rails) {
    RW_INFO(net, "lane {} to {}: shared memory", lane.id, session.peer());
    return;
  }
  const int fd = lane.bootstrap.fd.get();
  RW_INFO(net, "lane {} to {}: {} {} → {}{}{}", lane.id, session.peer(), own_rails_.at(lane.rails.local).name,
          wire::to_string(wire::local_address(fd)), wire::to_string(wire::remote_address(fd)),
          lane.begun.is_plain() ? "" : fmt::format(", by {}", lane.begun.agreed_wire()),
          lane.bootstrap.tls ? ", TLS 1.3" : "");
}

bool HostEngine::was_dialled(const Session& session) {
  const PeerSession* const its = peer_sessions_.find(session);
  return its && its->reconciler;
}

void HostEngine::on_probe(const Session& session, const RailPair& by, Address::Family family,
                          const std::vector<PeerRail>& peer_rails) {
  const PeerSession* const its = peer_sessions_.find(session);
  if (its && its->reconciler) (void)its->session->guarded([&] { its->reconciler->on_probe(by, family, peer_rails); });
}

void HostEngine::retire(const std::shared_ptr<Session>& session) {
  if (!session->over()) session->give_way();
  session->close_lanes();
  directory_.remove(session);
  peer_sessions_.remove(*session);
  listeners_.drop_dead();
}

}  // namespace railweave::engine
