// A peer that completes the handshake and then sends an invalid frame: its session ends with one warning, and no other
// session ends.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "base/random.h"
#include "engine/connect/hello.h"
#include "protocol/frame_fields.h"
#include "tests/nccl/failure.h"
#include "tests/nccl/log_capture.h"
#include "tests/nccl/pair.h"

namespace railweave::nccl_test {
namespace {

using namespace std::chrono_literals;
using protocol::FrameHeader;
using protocol::FrameType;
using FrameBytes = std::array<std::byte, protocol::kFrameHeaderBytes>;

// A misbehaving peer: one socket that plays an instance.
class Rogue {
 public:
  explicit Rogue(const Handle& handle) : target_(engine::decode_handle(handle).value()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(target_.addresses.at(0).port);
    std::memcpy(&address.sin_addr, target_.addresses.at(0).address.bytes.data(), sizeof address.sin_addr);
    if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw Failure("connect failed");
    shake_hands();
  }

  // Both give the frame the next sequence number. Call open() first.
  void open() { send(bytes_of(protocol::OpenFrame{.listener = target_.listener, .rail_mask = 1})); }
  FrameBytes bytes_of(FrameHeader header) {
    header.sequence = sequence_++;
    FrameBytes bytes;
    protocol::encode(header, bytes);
    return bytes;
  }
  void send(std::span<const std::byte> bytes) {
    if (::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != ssize_t(bytes.size()))
      throw Failure("send failed");
  }
  // Waits until the other end closes or resets the connection. Returns false after `within`.
  bool is_closed(std::chrono::milliseconds within) {
    const auto until = std::chrono::steady_clock::now() + within;
    while (std::chrono::steady_clock::now() < until) {
      pollfd readable{fd_.get(), POLLIN, 0};
      char sink[4096];
      if (poll(&readable, 1, 100) > 0 && recv(fd_.get(), sink, sizeof sink, MSG_DONTWAIT) <= 0) return true;
    }
    return false;
  }

 private:
  void shake_hands() {
    engine::Hello hello;
    hello.from = random_id();
    hello.to = target_.instance;
    hello.session = 77;
    hello.peer = "rogue pid 1";
    hello.rails.push_back({"lo", 0, {target_.addresses.at(0)}, false});
    send(engine::encode_hello(hello));
    std::vector<std::byte> answer(engine::kHelloFixedBytes);
    receive(answer);
    const std::size_t all = engine::hello_bytes(std::span(answer).first<engine::kHelloFixedBytes>()).value();
    answer.resize(all);
    receive(std::span(answer).subspan(engine::kHelloFixedBytes));
    const auto welcome = engine::decode_hello(answer);
    if (!welcome.ok() || welcome.value().kind != engine::Hello::Kind::welcome) throw Failure("not welcome");
    send(engine::encode_hello(engine::confirm_of(welcome.value())));
  }
  void receive(std::span<std::byte> into) {
    if (recv(fd_.get(), into.data(), into.size(), MSG_WAITALL) != ssize_t(into.size())) throw Failure("no answer");
  }

  engine::HandleContent target_;
  OwnedFd fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint32_t sequence_ = 0;
};

class BadFrame : public testing::Test {
 protected:
  // Accepts a stream of a rogue, posts a receive on it, and sends `bytes_of(rogue)`. Traffic of others flows meanwhile.
  void expect_one_warning(const std::function<FrameBytes(Rogue&)>& bytes_of, const std::string& said) {
    clear_captured_log();
    const Scenario traffic{
        .version = 11, .comms = 2, .both_ways = true, .messages = 100, .slot_bytes = 256 * KiB, .depth = 4};
    Pair others(traffic);
    others.first->start();
    others.second->start();
    const Library library(options().plugin);
    const auto net = library.net(11);
    void *context = nullptr, *listener = nullptr, *comm = nullptr, *mhandle = nullptr, *request = nullptr;
    ASSERT_EQ(net->init(&context, -1, capture_log), abi::kSuccess);
    Handle handle{};
    ASSERT_EQ(net->listen(context, 0, handle.data(), &listener), abi::kSuccess);
    Rogue rogue(handle);
    rogue.open();
    spin_until("accepted", 10s, [&] { return net->accept(listener, &comm) != abi::kSuccess || comm; });
    ASSERT_TRUE(comm) << warnings_text();
    std::vector<char> place(1024);
    ASSERT_EQ(net->reg_mr(comm, place.data(), place.size(), abi::kPtrHost, &mhandle), abi::kSuccess);
    spin_until("posted", 10s, [&] {
      return net->irecv(comm, 1, place.data(), place.size(), mhandle, &request) != abi::kSuccess || request;
    });
    ASSERT_TRUE(request);
    rogue.send(bytes_of(rogue));
    ReturnCode result = abi::kSuccess;
    int done = 0;
    spin_until("an error", 10s, [&] { return (result = net->test(request, &done, nullptr)) != abi::kSuccess || done; });
    EXPECT_EQ(result, abi::kRemoteError);
    EXPECT_TRUE(rogue.is_closed(10s));
    others.first->wait();
    others.second->wait();
    EXPECT_EQ(captured_warnings().size(), 1u) << warnings_text();
    EXPECT_NE(warnings_text().find(said), std::string::npos) << warnings_text();
    EXPECT_EQ(net->dereg_mr(comm, mhandle), abi::kSuccess);
    EXPECT_EQ(net->close_recv(comm), abi::kSuccess);
    EXPECT_EQ(net->close_listen(listener), abi::kSuccess);
    EXPECT_EQ(net->finalize(context), abi::kSuccess);
  }
};

TEST_F(BadFrame, an_impossible_length_ends_its_session_alone) {
  expect_one_warning(
      [](Rogue& rogue) {
        return rogue.bytes_of(protocol::SegmentFrame{.length = protocol::kSegmentBytesMax + 1, .size = 1 << 30});
      },
      "segment of 262145 bytes");
}

TEST_F(BadFrame, a_length_beyond_its_receive_ends_its_session_alone) {
  expect_one_warning(
      [](Rogue& rogue) {
        return rogue.bytes_of(protocol::SegmentFrame{.length = 4096, .offset = 1 << 20, .size = 4096});
      },
      "outside its message");
}

TEST_F(BadFrame, an_unknown_stream_ends_its_session_alone) {
  expect_one_warning(
      [](Rogue& rogue) { return rogue.bytes_of(protocol::SegmentFrame{.stream = 999, .length = 16, .size = 16}); },
      "stream 999, which was never opened");
}

TEST_F(BadFrame, an_unknown_type_ends_its_session_alone) {
  expect_one_warning([](Rogue& rogue) { return rogue.bytes_of({.type = FrameType(200)}); }, "type 200");
}

TEST_F(BadFrame, a_damaged_header_ends_its_session_alone) {
  expect_one_warning(
      [](Rogue& rogue) {
        FrameBytes bytes = rogue.bytes_of({.type = FrameType::keep});
        bytes[40] ^= std::byte{1};
        return bytes;
      },
      "header CRC");
}

}  // namespace
}  // namespace railweave::nccl_test
