// Server of a TcpStore: keeps the keys and answers clients, on its own thread.
// Lifetime: the end sends every client "ended", stops the thread and closes the connections.
// Fork: in a child the end closes only the copies of the listening socket and of the stop eventfd.
// Clients that send malformed requests are closed. Clients without a request yet are kept while there is room; then the
// oldest of them is closed.
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
  // bytes; a client that does not read is closed above this
  static constexpr std::size_t kOutboxBytesMax = 1 * MiB;
  static constexpr Nanos kAcceptPause = std::chrono::milliseconds(100);  // while descriptors are exhausted

  struct End {  // deleter; see Lifetime and Fork above
    void operator()(StoreServer* server) const;
  };
  using Ptr = std::unique_ptr<StoreServer, End>;
  static Result<Ptr> start(const std::string& host, std::uint16_t port);
  std::uint16_t port() const { return port_; }

 private:
  struct Client {
    OwnedFd fd;
    std::string inbox, outbox;
    std::string waits_for;  // key of the unanswered get; valid while `waiting`
    TimePoint gives_up = TimePoint::max();
    bool waiting = false, closed = false;
    bool spoke = false;  // has sent a whole request
  };

  struct Claim {
    const Client* holder = nullptr;
    int times = 0;
  };

  StoreServer(OwnedFd listener, OwnedFd stop, std::uint16_t port);
  ~StoreServer();
  // --- the server's thread only
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
  std::set<std::string> published_;  // keys of values_ that were sent as news
  std::map<std::string, Claim> claims_;
  std::thread thread_;
  TimePoint accepts_again_{};
};

}  // namespace railweave::collectives
