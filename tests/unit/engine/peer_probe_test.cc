#include "engine/reconcile/peer_probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "engine/connect/rail_dialler.h"
#include "tests/unit/engine/on_reactor.h"
#include "tests/unit/engine/session_fixture.h"
#include "wire/bootstrap/socket.h"

namespace railweave::engine {
namespace {

// A session whose only lane was lost, and the listener of its peer, at which the test accepts connections.
class PeerProbeTest : public SessionTest {
 protected:
  PeerProbeTest() {
    config_.peer_timeout = std::chrono::seconds(60);
    rails_[0].name = "lo";
    rails_[0].loopback = true;
    rails_[0].addresses = {{.family = Address::Family::v4, .bytes = {127, 0, 0, 1}, .prefix_bits = 8}};
  }
  ~PeerProbeTest() override {
    reactor_.stop();
    probe_.reset();
  }
  void SetUp() override {
    auto listener = wire::listen_at(rails_[0].addresses[0], PortRange{}, {});
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(listener->fd);
    const PeerRail peer_rail{"lo", 10'000, {{rails_[0].addresses[0], listener->address.port()}}, false};
    announced_ = {peer_rail};
    self_.rails = &rails_;
    self_.announced = &announced_;
    self_.config = &config_;
    add_lanes(1);
    session_->lanes().join_began();  // so that the session does not end with its lane
    paper_[0].ending = Status(Code::remote, Scope::lane, "closed by the peer");
    drive();
    ASSERT_TRUE(session_->is_without_lanes());
    probe_ = std::make_unique<PeerProbe>(SessionAccess{reactor_, dialler_, session_->lanes(), rails_}, announced_);
    ASSERT_TRUE(reactor_.start().ok());
  }
  // Accepts a connection and reads its Hello. Returns no descriptor if either does not come in time.
  OwnedFd probed() {
    const timeval patience{2, 0};
    (void)::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int flags = ::fcntl(listener_.get(), F_GETFL);
    (void)::fcntl(listener_.get(), F_SETFL, flags & ~O_NONBLOCK);
    OwnedFd fd(::accept(listener_.get(), nullptr, nullptr));
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);  // less time than a probe has
    std::array<std::byte, kHelloFixedBytes> head;
    if (::recv(fd.get(), head.data(), head.size(), MSG_WAITALL) != ssize_t(head.size())) fd.reset();
    auto bytes = fd ? hello_bytes(head) : Result<std::size_t>(std::size_t{0});
    std::vector<std::byte> body(bytes.ok() ? *bytes - head.size() : 0);
    if (fd && ::recv(fd.get(), body.data(), body.size(), MSG_WAITALL) != ssize_t(body.size())) fd.reset();
    return fd;
  }

  Reactor reactor_;
  std::vector<Rail> rails_{1};
  std::vector<PeerRail> announced_;
  Identity self_;
  OwnedFd listener_;
  RailDialler dialler_{reactor_, self_, InstanceId{1}, 0, *session_, [](Session&, NewLane) {}};
  std::unique_ptr<PeerProbe> probe_;
};

// A probe under way announces our rails as they were before. The peer would take the announcement for news.
TEST_F(PeerProbeTest, a_probe_ends_when_a_lane_stands_again) {
  on_reactor(reactor_, [this] { probe_->poll(); });
  const OwnedFd asked = probed();
  ASSERT_TRUE(asked);
  EXPECT_FALSE(wire::is_closed_by_peer(asked.get()));
  on_reactor(reactor_, [this] {
    ASSERT_TRUE(session_->add_lane(1, {0, 0}, std::make_unique<PaperLane>(paper_[1], "lo")));
    probe_->on_lane();
  });
  char byte = 0;
  EXPECT_EQ(::recv(asked.get(), &byte, 1, 0), 0) << "closed at once";
  EXPECT_TRUE(wire::is_closed_by_peer(asked.get()));
}

}  // namespace
}  // namespace railweave::engine
