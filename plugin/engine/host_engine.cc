#include "engine/host_engine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/scope_exit.h"
#include "base/without_memory.h"
#include "discovery/devices.h"
#include "discovery/host_view.h"
#include "discovery/rails.h"
#include "engine/connecting.h"
#include "wire/bootstrap/socket.h"

namespace railweave {

Result<std::shared_ptr<Engine>> Engine::start(const Config& config) {
  Result<discovery::Discovered> found = discovery::discover_rails(config, *discovery::this_host());
  if (!found.ok()) return found.status();
  std::vector<Device> devices = discovery::make_devices(found->taken, config.devices);
  std::shared_ptr<engine::HostEngine> engine(new engine::HostEngine(config, std::move(found->taken), std::move(devices)),
                                             [](engine::HostEngine* e) {
                                               if (!e->forked()) delete e;
                                             });
  if (Status s = engine->start(); !s.ok()) return s;
  return std::shared_ptr<Engine>(std::move(engine));
}

}  // namespace railweave

namespace railweave::engine {
namespace {

constexpr std::size_t kUnacceptedBytesMax = 256 * MiB;  // slots of streams that nobody accepted yet

std::string own_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + " pid " + std::to_string(getpid());
}

}  // namespace

HostEngine::HostEngine(const Config& config, std::vector<Rail> rails, std::vector<Device> devices)
    : config_(config), rails_(std::move(rails)), devices_(std::move(devices)),
      slot_budget_(kUnacceptedBytesMax / (protocol::kEagerSlots * std::max<std::size_t>(config.eager_limit_bytes, 1))), wires_(config_),
      rails_now_(rails_), editions_(rails_.size()), doors_(reactor_), local_door_(reactor_), stats_door_(reactor_),
      link_watch_(reactor_, rails_now_),
      unconfirmed_(reactor_, [this](UnconfirmedLanes::Entry entry) { on_confirmed(std::move(entry)); }) {
  (void)out_of_memory();  // made while there is some
  self_.instance = random_id();
  self_.name = own_name();
  self_.rails = &rails_now_;
  self_.announced = &doors_.rails();
  self_.config = &config_;
  self_.wires = &wires_;
  for (std::size_t i = 0; i < rails_.size(); ++i) wires_.know_rail(int(i), rails_[i]);
}

Status HostEngine::read_key() {
  if (config_.encrypt && config_.key_file.empty())
    return Status(Code::invalid_config, Scope::engine, "RAILWEAVE_ENCRYPT is on, RAILWEAVE_KEY_FILE is empty, expected the file of a key to encrypt by");
  if (!config_.key_file.empty()) {
    RW_ASSIGN_OR_RETURN(key_, SharedKey::read(config_.key_file));
    self_.key = &*key_;
    return {};
  }
  static std::atomic<bool> said{false};  // once for a process is enough
  const bool reachable = std::ranges::any_of(rails_, [](const Rail& rail) { return !rail.loopback; });
  if (reachable && !said.exchange(true)) RW_INFO(init, "there is no RAILWEAVE_KEY_FILE: anyone on the network may connect");
  return {};
}

Status HostEngine::start() {
  RW_TRY(read_key());
  if (Status s = doors_.open(config_, rails_); !s.ok()) return s;
  announced_ = doors_.rails();
  if (config_.shm.value_or(false))
    if (Status s = local_door_.open(self_.instance); !s.ok()) RW_WARN(net, "no shared memory: {}", s.message());
  if (Status s = reactor_.start(); !s.ok()) return s;
  reactor_.run_soon([this] { serve(); });
  return {};
}

void HostEngine::serve() {
  until_memory([this] {  // or nobody would ever be let in
    doors_.serve([this](wire::Accepted accepted, int rail) { on_connection(std::move(accepted), rail); });
    local_door_.serve([this](OwnedFd fd) { on_local_connection(std::move(fd)); });
  });
  link_watch_.open([this](int rail, bool up) { on_link(rail, up); }, [this](int rail) { rails_now_[std::size_t(rail)].ifindex = 0; },
                   [this] { return look_for_rails(); });
  stats_door_.open(config_.stats_dir, stats().instance, [this] { return stats(); });
}

HostEngine::~HostEngine() {
  try {
    if (reactor_.running()) say_farewell();
  } catch (const std::bad_alloc&) {
    RW_WARN(net, "no memory to say goodbye with");
  }
  reactor_.stop();
  close_all_lanes();
  std::map<PeerKey, std::shared_ptr<LiveSession>> sessions;
  std::map<std::uint32_t, std::shared_ptr<ListenQueue>> listeners;
  {
    const std::lock_guard lock(table_mutex_);
    sessions.swap(sessions_);
    listeners.swap(listeners_);
  }
  for (auto& [id, queue] : listeners) queue->close();
  for (auto& [key, session] : sessions) session->fail(ended_);
}

std::uint64_t HostEngine::rail_mask(int device) const {
  if (config_.devices == DeviceModel::aggregate) return ~std::uint64_t{0};  // those that come, too
  std::uint64_t mask = 0;
  for (int rail : devices_[std::size_t(device)].rails) mask |= std::uint64_t{1} << rail;
  return mask;
}

// ------------------------------------------------------------------------------------------------------------ endpoints

Result<std::unique_ptr<Listener>> HostEngine::listen(int device, Handle& handle) {
  if (forked()) return dead_after_fork();
  if (device < 0 || device >= int(devices_.size()))
    return Status(Code::invalid_argument, Scope::request, "device " + std::to_string(device) + ", expected 0 to " +
                                                              std::to_string(devices_.size() - 1));
  std::shared_ptr<ListenQueue> queue;
  HandleContent content{self_.instance, 0, {}};
  {
    const std::lock_guard lock(table_mutex_);
    queue = std::make_shared<ListenQueue>(next_listener_++, rail_mask(device), slot_budget_);
    listeners_.emplace(queue->id(), queue);
    content.listener = queue->id();
    // The device's own rails first: with several devices per host each is reached by its own way.
    for (int rail : devices_[std::size_t(device)].rails)
      for (const PeerAddress& a : announced_[std::size_t(rail)].addresses) content.addresses.push_back(a);
    if (content.addresses.empty())  // others have them now
      for (const PeerRail& rail : announced_) content.addresses.insert(content.addresses.end(), rail.addresses.begin(), rail.addresses.end());
  }
  // Link-local addresses mean something on one link only: they are told last, where there is room.
  std::stable_partition(content.addresses.begin(), content.addresses.end(), [](const PeerAddress& a) { return !discovery::is_link_local(a.address); });
  handle = encode_handle(content);
  return std::unique_ptr<Listener>(std::make_unique<EngineListener>(shared_from_this(), std::move(queue)));
}

void HostEngine::close_listener(std::uint32_t id) {
  std::shared_ptr<ListenQueue> queue;
  {
    const std::lock_guard lock(table_mutex_);
    const auto it = listeners_.find(id);
    if (it == listeners_.end()) return;
    queue = std::move(it->second);
    listeners_.erase(it);
  }
  queue->close();
}

Result<std::unique_ptr<Connector>> HostEngine::connect(int device, const Handle& handle, int traffic_class, Class priority) {
  if (forked()) return dead_after_fork();
  if (device < 0 || device >= int(devices_.size()))
    return Status(Code::invalid_argument, Scope::request, "device " + std::to_string(device) + ", expected 0 to " +
                                                              std::to_string(devices_.size() - 1));
  Result<HandleContent> peer = decode_handle(handle);
  if (!peer.ok()) return peer.status();
  if (traffic_class < 0) traffic_class = std::max(config_.traffic_class, 0);
  std::string name = wire::to_string(peer->addresses.front().address);
  auto pending = std::make_shared<PendingStream>(std::move(*peer), traffic_class, rail_mask(device), priority, now() + config_.connect_timeout);
  open_in_session(pending);
  return std::unique_ptr<Connector>(std::make_unique<EngineConnector>(shared_from_this(), std::move(pending), std::move(name)));
}

EngineStats HostEngine::stats() const {
  EngineStats stats;
  constexpr char kHex[] = "0123456789abcdef";
  for (std::uint8_t byte : self_.instance) stats.instance += {kHex[byte >> 4], kHex[byte & 15]};
  stats.rails = rail_stats();
  for (const auto& session : sessions()) stats.sessions.push_back(session->stats());
  return stats;
}

std::vector<RailStats> HostEngine::rail_stats() const {
  std::vector<RailStats> rails;
  const std::lock_guard lock(table_mutex_);
  for (const PeerRail& rail : announced_) {
    rails.push_back({rail.name, {}, link_watch_.is_up(int(rails.size()))});
    for (const PeerAddress& at : rail.addresses) rails.back().addresses.push_back(wire::to_string(at.address));
  }
  return rails;
}

std::vector<std::shared_ptr<LiveSession>> HostEngine::sessions() const {
  std::vector<std::shared_ptr<LiveSession>> sessions;
  const std::lock_guard lock(table_mutex_);
  for (const auto& [key, session] : sessions_) sessions.push_back(session);
  return sessions;
}

// ------------------------------------------------------------------------------------------------------- session owner

std::shared_ptr<ListenQueue> HostEngine::find_listener(std::uint32_t id) {
  const std::lock_guard lock(table_mutex_);
  const auto it = listeners_.find(id);
  return it == listeners_.end() ? nullptr : it->second;
}

void HostEngine::wake_for(std::shared_ptr<LiveSession> session) {
  reactor_.run_soon([this, session = std::move(session)] {
    if (SessionWatch* watch = watch_of(*session)) watch->look();
  });
}

void HostEngine::on_session_over(std::shared_ptr<LiveSession> session) {
  reactor_.run_soon([this, session = std::move(session)] { bury(session); });
}

void HostEngine::on_lane_wanted(std::shared_ptr<LiveSession> session) {
  reactor_.run_soon([this, session = std::move(session)] {
    session->note_lost_pairs();
    if (const auto it = absent_rails_.find(session.get()); it != absent_rails_.end()) it->second->look_later();
    if (const auto it = rail_logs_.find(session.get()); it != rail_logs_.end()) it->second->look();
    if (const auto it = upkeeps_.find(session.get()); it != upkeeps_.end()) it->second->look();
    if (const auto it = knocks_.find(session.get()); it != knocks_.end()) it->second->look();
  });
}

// --------------------------------------------------------------------------------------------------- reactor's thread

std::shared_ptr<LiveSession> HostEngine::add_session(const PeerKey& key, const Hello& peer, std::uint64_t serial, NewLane lane,
                                                     std::vector<std::shared_ptr<PendingStream>> waiters) {
  const bool by_rails = lane.by_rails;
  std::shared_ptr<LiveSession> session, old;
  ScopeExit broken([&] {  // else it would stand in the way of the peer's next one for ever
    for (const auto& waiter : waiters) waiter->fail(out_of_memory());
    if (session) session->fail(out_of_memory());
  });
  session = std::make_shared<LiveSession>(config_, *this, peer.peer, serial, lane.session_secret, by_rails);
  {
    const std::lock_guard lock(table_mutex_);
    old = std::exchange(sessions_[key], session);
  }
  if (old) bury(old);
  watches_.emplace(session.get(), std::make_unique<SessionWatch>(reactor_, session));
  if (by_rails) rail_logs_.emplace(session.get(), std::make_unique<RailLog>(reactor_, rails_now_, session, rail_lines_));
  if (by_rails) absent_rails_.emplace(session.get(), std::make_unique<AbsentRails>(reactor_, rails_now_, session, absence_told_));
  for (const int down : rails_down_) session->tell_link(down, false);
  const std::string rail = by_rails ? rails_now_[std::size_t(lane.rails.local)].name : "shm";
  add_lane(*session, std::move(lane));
  for (int i = 0; by_rails && i < int(rails_now_.size()); ++i)  // the handshake's list may be older
    if (editions_[std::size_t(i)] > 0) session->tell_rail(news_of(i));
  broken.dismiss();
  for (auto& waiter : waiters) session->open(waiter);
  RW_INFO(net, "session with {} over {}", peer.peer, rail);
  if (SessionWatch* watch = watch_of(*session)) watch->look();
  yield_other_dial(key, serial);
  return session;
}

void HostEngine::add_lane(LiveSession& session, NewLane lane) {
  if (session.over()) return;  // its lanes were closed: nobody would close this one
  const bool doubtful = lane.doubtful || wire::has_sent_again(lane.bootstrap.fd.get());
  tell_of_lane(session, lane);
  lane.begun.pending->start(std::move(lane.bootstrap));
  session.begin_lane(lane.id, lane.rails, std::move(lane.begun.pending), doubtful);
  if (SessionWatch* watch = watch_of(session)) watch->look();
}

void HostEngine::on_lane_came(std::shared_ptr<LiveSession> session) {
  if (const auto it = rail_logs_.find(session.get()); it != rail_logs_.end()) it->second->look();
  if (const auto it = knocks_.find(session.get()); it != knocks_.end()) it->second->on_lane();
}

void HostEngine::tell_of_lane(const LiveSession& session, const NewLane& lane) const {
  if (!lane.by_rails) {
    RW_INFO(net, "lane {} to {}: shared memory", lane.id, session.peer());
    return;
  }
  const int fd = lane.bootstrap.fd.get();
  RW_INFO(net, "lane {} to {}: {} {} → {}{}", lane.id, session.peer(), rails_now_[std::size_t(lane.rails.local)].name,
          wire::to_string(wire::local_address(fd)), wire::to_string(wire::remote_address(fd)), lane.bootstrap.tls ? ", TLS 1.3" : "");
}

SessionWatch* HostEngine::watch_of(const LiveSession& session) {
  const auto it = watches_.find(&session);
  return it == watches_.end() ? nullptr : it->second.get();
}

void HostEngine::bury(const std::shared_ptr<LiveSession>& session) {
  if (!session->over()) session->give_way();
  session->close_lanes();
  {
    const std::lock_guard lock(table_mutex_);
    std::erase_if(sessions_, [&](const auto& entry) { return entry.second == session; });
  }
  rail_logs_.erase(session.get());
  absent_rails_.erase(session.get());
  upkeeps_.erase(session.get());
  knocks_.erase(session.get());
  // Its watch may be on the stack below us.
  if (const auto it = watches_.find(session.get()); it != watches_.end()) {
    std::shared_ptr<SessionWatch> watch;
    until_memory([&] { watch = std::move(it->second); });
    watches_.erase(it);
    until_memory([&] { reactor_.run_soon([watch] {}); });
  }
  drop_dead_streams();
}

// Walks by id: a copy of the table would need memory, and the ends' sessions must not be under its mutex.
void HostEngine::drop_dead_streams() {
  for (std::uint32_t id = 0;; ++id) {
    std::shared_ptr<ListenQueue> queue;
    {
      const std::lock_guard lock(table_mutex_);
      const auto it = listeners_.lower_bound(id);
      if (it == listeners_.end()) return;
      id = it->first;
      queue = it->second;
    }
    queue->drop_dead();
  }
}

}  // namespace railweave::engine
