#include "engine/connect/handshake.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"

namespace railweave::engine {
namespace {

using namespace std::chrono_literals;

// A listener whose queue is full until the test accepts: the kernel drops a SYN that arrives before. TCP retransmits
// the SYN a second later, as after an outage.
class FullListener {
 public:
  FullListener() {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd_.reset(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    EXPECT_EQ(listen(fd_.get(), 0), 0);
    const timeval patience{5, 0};
    EXPECT_EQ(setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    socklen_t size = sizeof any;
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&any), &size), 0);
    port_ = ntohs(any.sin_port);
    first_.reset(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(connect(first_.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  }
  std::uint16_t port() const { return port_; }
  OwnedFd accept() {
    OwnedFd fd(::accept(fd_.get(), nullptr, nullptr));
    EXPECT_TRUE(fd);
    return fd;
  }

 private:
  OwnedFd fd_, first_;
  std::uint16_t port_ = 0;
};

// Each part takes less time than the deadline of a join allows; the whole takes more.
TEST(Handshake, dial__a_join_that_is_dialled_once_more_has_its_time_anew) {
  Reactor reactor;
  ASSERT_TRUE(reactor.start().ok());
  FullListener listener;
  wire::DialSpec spec;
  spec.source = Address{Address::Family::v4, {127, 0, 0, 1}};
  spec.remote = wire::socket_address(spec.source, listener.port());
  Hello join;
  join.kind = Hello::Kind::join;
  join.peer = "here pid 1";

  std::promise<void> dialled;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Handshake::Outcome> outcome;
  std::unique_ptr<Handshake> handshake;  // belongs to the reactor's thread
  reactor.run_soon([&] {
    handshake = Handshake::dial(reactor, spec, join, {}, now() + 2s, [&](Handshake::Outcome o) {
      const std::lock_guard lock(mutex);
      outcome = std::move(o);
      ended.notify_all();
    });
    dialled.set_value();
  });
  dialled.get_future().wait();
  std::this_thread::sleep_for(300ms);  // the kernel has dropped the SYN
  const OwnedFd filler = listener.accept();
  const OwnedFd late = listener.accept(), fresh = listener.accept();
  char byte;
  EXPECT_EQ(recv(late.get(), &byte, 1, 0), 0) << "given up before anything was said";
  std::this_thread::sleep_for(1500ms);
  Handshake::Outcome answer;
  answer.fd = OwnedFd(dup(fresh.get()));
  Hello welcome = join;
  welcome.kind = Hello::Kind::welcome;
  EXPECT_TRUE(send_hello(answer, welcome).ok());
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(ended.wait_for(lock, 10s, [&] { return outcome.has_value(); }));
    EXPECT_TRUE(outcome && outcome->status.ok()) << (outcome ? outcome->status.message() : "never ended");
    outcome.reset();
  }
  reactor.run_soon([&] { handshake.reset(); });
  reactor.stop();
}

}  // namespace
}  // namespace railweave::engine
