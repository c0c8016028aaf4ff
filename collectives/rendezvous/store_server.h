// The root of a TcpStore: keeps the keys and answers clients, on a thread of its own.
// Life: its end stops the thread, tells every client that it ends, and closes them. In a forked child it ends nothing:
// there only what it listens at is closed. Clients that speak nonsense are closed; silent ones are kept while there is
// room, then the one that has been silent longest makes place.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/process_origin.h"
#include "collectives/rendezvous/store_frames.h"
#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::collectives {

class StoreServer {
 public:
  static constexpr std::size_t kClientsMax = 4096;
  // of a client that does not read: then it is closed
  static constexpr std::size_t kOutboxBytesMax = 1 * MiB;
  static constexpr Nanos kAcceptPause = std::chrono::milliseconds(100);  // when no descriptor is to be had

  struct End {  // see above
    void operator()(StoreServer* server) const;
  };
  using Ptr = std::unique_ptr<StoreServer, End>;
  static Result<Ptr> start(const std::string& host, std::uint16_t port);
  std::uint16_t port() const { return port_; }

 private:
  struct Client {
    OwnedFd fd;
    std::string inbox, outbox;
    std::string waits_for;  // key of an unanswered get
    TimePoint gives_up = TimePoint::max();
    bool waiting = false, closed = false;
    bool spoke = false;  // a whole request, ever
  };

  struct Claim {
    const Client* holder = nullptr;
    int times = 0;
  };

  StoreServer(OwnedFd listener, OwnedFd stop, std::uint16_t port);
  ~StoreServer();
  // --- its thread only
  void loop();
  void accept_clients();
  bool make_place();
  void receive(Client& client);
  void serve(Client& client, const StoreRequest& request);
  bool claim(const Client& client, const std::string& key);
  void release(const Client& client, const std::string& key);
  void set(const StoreRequest& request);
  void send_news(const StoreNews& news);
  void answer(Client& client, bool found, const std::string& value);
  void write_out(Client& client);
  void give_up_late_gets();
  bool accepts() const;
  int timeout_ms() const;

  const ProcessOrigin origin_;
  OwnedFd listener_, stop_;
  const std::uint16_t port_;
  std::list<Client> clients_;
  std::map<std::string, std::string> values_;
  std::set<std::string> published_;  // keys of values_ that were news
  std::map<std::string, Claim> claims_;
  std::thread thread_;
  TimePoint accepts_again_{};
};

}  // namespace railweave::collectives
