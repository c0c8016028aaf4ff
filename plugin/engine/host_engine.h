// The engine of one process (include/railweave/endpoint.h): one identity, one reactor, sessions by peer.
//
// Threads: as endpoint.h says. table_mutex_ guards the tables; it comes before a session's mutex and is never held across a
// system call that may wait. Dials, handshakes, doors and watches belong to the reactor's thread.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/absent_rails.h"
#include "engine/dial.h"
#include "engine/doors.h"
#include "engine/fork_guard.h"
#include "engine/knock.h"
#include "engine/lane_upkeep.h"
#include "engine/link_watch.h"
#include "engine/live_session.h"
#include "engine/local_door.h"
#include "engine/rail_log.h"
#include "engine/reactor.h"
#include "engine/session_watch.h"
#include "engine/stats_door.h"
#include "engine/stream_setup.h"
#include "engine/unconfirmed_lanes.h"
#include "engine/wires.h"
#include "railweave/endpoint.h"

namespace railweave::engine {

// Two instances share one session per traffic class. An instance that talks to itself has two halves of one.
struct PeerKey {
  InstanceId peer{};
  int traffic_class = 0;
  enum class Half { whole, dialler, acceptor } half = Half::whole;
  friend auto operator<=>(const PeerKey&, const PeerKey&) = default;
};

class HostEngine final : public Engine, public SessionOwner, public std::enable_shared_from_this<HostEngine> {
 public:
  HostEngine(const Config& config, std::vector<Rail> rails, std::vector<Device> devices);
  ~HostEngine() override;
  // Errors: invalid_config of the key's file; system, without ports or threads.
  Status start();

  const std::vector<Rail>& rails() const override { return rails_; }
  const std::vector<Device>& devices() const override { return devices_; }
  bool shares_memory() const override { return config_.shm.value_or(false); }
  Result<std::unique_ptr<Listener>> listen(int device, Handle& handle) override;
  Result<std::unique_ptr<Connector>> connect(int device, const Handle& handle, int traffic_class, Class priority) override;
  EngineStats stats() const override;

  // For connectors and listeners.
  const Config& config() const { return config_; }
  bool forked() const { return birthplace_.left(); }
  void close_listener(std::uint32_t id);

 private:
  std::shared_ptr<ListenQueue> find_listener(std::uint32_t id) override;
  void on_session_over(std::shared_ptr<LiveSession> session) override;
  void on_lane_wanted(std::shared_ptr<LiveSession> session) override;
  void on_lane_came(std::shared_ptr<LiveSession> session) override;
  bool warns_of_unused() override;
  bool may_warn_of_silence(bool is_silent) override;
  void on_rails_told(std::shared_ptr<LiveSession> session) override;
  void on_unanswered(std::shared_ptr<PendingStream> pending, const Status& why) override;
  void wake_for(std::shared_ptr<LiveSession> session) override;

  Status read_key();
  std::uint64_t rail_mask(int device) const;
  std::unique_ptr<Dial> make_dial(const PeerKey& key, const HandleContent& peer);
  void begin_dial(const PeerKey& key, const HandleContent& peer,
                  const std::vector<std::shared_ptr<PendingStream>>& waiters);
  PeerKey key_for_dial(const InstanceId& peer, int traffic_class) const;

  // host_engine_accept.cc: the acceptor's side of handshakes. Reactor's thread.
  // Where a connection came in: by the interface of rail `rail` (none: -1), to an address of rail `dialled`.
  struct Arrival {
    int rail = -1, dialled = 0;
    std::string interface;
    Address::Family family = Address::Family::v4;
  };
  Arrival arrival_of(const wire::Accepted& accepted, int dialled_rail) const;
  void on_connection(wire::Accepted accepted, int dialled_rail);
  void on_hello(const Arrival& arrival, Handshake::Outcome outcome);
  void on_local_connection(OwnedFd fd);
  void on_local_hello(Handshake::Outcome outcome);
  void await_hello(OwnedFd fd, std::string what, decltype(&Handshake::await) await, Handshake::Done then);
  Hello answer(const Hello& hello, Hello::Kind kind, int rail) const;
  void note_shown_out(const std::string& why, bool set_up_wrongly);
  bool refused_for_encryption(const Handshake::Outcome& caller);
  void refuse(const Handshake::Outcome& caller, Hello::Refusal refusal, std::string reason);
  bool refuses_first(const Handshake::Outcome& caller);
  void accept_first(Handshake::Outcome caller, const Arrival& arrival);
  void accept_local_first(Handshake::Outcome caller, Wires::Begun begun);
  void accept_join(Handshake::Outcome caller, const Arrival& arrival);
  Status begin_lane(NewLane& lane, const Hello& hello, Hello& welcome);
  void welcome(Handshake::Outcome caller, const Arrival& arrival, NewLane lane, const Secret* secret);
  void on_confirmed(UnconfirmedLanes::Entry entry);
  void tell_astray(const UnconfirmedLanes::Entry& entry);
  void accept_session(const Hello& first, NewLane lane);
  std::shared_ptr<LiveSession> session_of(const PeerKey& key) const;
  PeerKey key_of_dialler(const Hello& hello) const;
  void show_out_idle_sessions();

  // Reactor's thread.
  void serve();
  void start_dial(const PeerKey& key);
  void open_in_session(const std::shared_ptr<PendingStream>& pending);
  void open_again(const std::shared_ptr<PendingStream>& pending, const Status& why);
  std::shared_ptr<LiveSession> add_session(const PeerKey& key, const Hello& peer, std::uint64_t serial, NewLane lane,
                                           std::vector<std::shared_ptr<PendingStream>> waiters);
  void on_welcome(const PeerKey& key, const Hello& welcome, NewLane lane);
  void yield_other_dial(const PeerKey& key, std::uint64_t serial);
  void add_lane(LiveSession& session, NewLane lane);
  void tell_of_lane(const LiveSession& session, const NewLane& lane) const;
  void on_dial_over(const PeerKey& key, const Status& status);
  SessionWatch* watch_of(const LiveSession& session);
  void bury(const std::shared_ptr<LiveSession>& session);
  void drop_dead_streams();

  // host_engine_rails.cc: links and rails that change. Reactor's thread.
  void on_link(int rail, bool up);
  bool look_for_rails();               // false: something was short
  bool take_rail(int known, Rail rail);  // likewise
  void tell_rail(int index);
  protocol::RailNews::Statement news_of(int rail) const;
  void hear_rails(LiveSession& session);
  std::vector<std::shared_ptr<LiveSession>> sessions() const;
  std::vector<RailStats> rail_stats() const;

  // host_engine_farewell.cc
  void say_farewell();
  void close_all_lanes();

  // A session that a peer began and has opened no stream in.
  struct Newcomer {
    std::weak_ptr<LiveSession> session;
    TimePoint since;
  };

  const Birthplace birthplace_;
  const Config config_;
  const std::vector<Rail> rails_;                // those it started with
  const std::vector<Device> devices_;
  const Status ended_{Code::cancelled, Scope::engine, "the engine ended"};  // made while there is memory
  SlotBudget slot_budget_;
  std::optional<SharedKey> key_;                 // start()'s
  Wires wires_;                                  // reactor's thread
  Identity self_;
  Reactor reactor_;

  mutable std::mutex table_mutex_;
  std::map<PeerKey, std::shared_ptr<LiveSession>> sessions_;             // guarded by table_mutex_
  std::map<PeerKey, std::unique_ptr<Dial>> dials_;                       // likewise; the dials are the reactor's
  std::map<std::uint32_t, std::shared_ptr<ListenQueue>> listeners_;      // likewise
  std::uint32_t next_listener_ = 1;
  std::vector<PeerRail> announced_;                                      // likewise: what doors_ says

  // Reactor's thread.
  std::vector<Rail> rails_now_;                                          // and those that came since; none ever goes
  std::vector<std::uint64_t> editions_;                                  // of them, as peers are told
  Doors doors_;
  LocalDoor local_door_;
  StatsDoor stats_door_;
  LinkWatch link_watch_;
  std::vector<int> rails_down_;                                          // whose links are
  std::map<const LiveSession*, std::unique_ptr<SessionWatch>> watches_;
  std::map<const LiveSession*, std::unique_ptr<RailLog>> rail_logs_;     // of sessions by rails
  AbsenceTold absence_told_;
  RailLines rail_lines_;
  std::map<const LiveSession*, std::unique_ptr<LaneUpkeep>> upkeeps_;    // of sessions that we dialled, by rails
  std::map<const LiveSession*, std::unique_ptr<Knock>> knocks_;          // of those that we accepted, by rails
  std::map<const LiveSession*, std::unique_ptr<AbsentRails>> absent_rails_;  // of sessions by rails; refers to upkeeps_
  std::map<std::uint64_t, std::unique_ptr<Handshake>> incoming_;         // in order of arrival
  UnconfirmedLanes unconfirmed_;
  std::uint64_t next_incoming_ = 0;
  std::vector<Newcomer> newcomers_;                                      // likewise
  Reactor::TimerId idle_timer_ = 0;                                      // of show_out_idle_sessions()
  bool warned_idle_ = false;
  bool said_too_many_ = false;
  std::set<std::string> told_of_no_use_;                                 // interfaces that no door could be opened for
  TimePoint warned_shown_out_{};
  std::atomic<TimePoint> warned_unused_{TimePoint{}};
  bool leaving_ = false;
};

}  // namespace railweave::engine
