// Writes the seeds of the corpus that are made by encoding: frames, hellos, challenges, handles, blocks, and acts on a
// session.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "engine/admission/challenge.h"
#include "engine/connect/handle.h"
#include "engine/connect/hello.h"
#include "protocol/frame.h"
#include "wire/message/offer.h"

using namespace railweave;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& folder, const std::string& name, const std::string& bytes) {
  fs::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

template <class Bytes>
std::string text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void frames(const fs::path& folder) {
  using namespace protocol;
  for (int type = 1; type <= 13; ++type) {
    FrameHeader h{.type = FrameType(type),
                  .aux = 1,
                  .stream = 3,
                  .length = 128,
                  .message = 7,
                  .a = 256,
                  .b = 512,
                  .consumed = 9,
                  .sequence = 10};
    if (h.type == FrameType::retire) h.b = 1;
    std::array<std::byte, kFrameHeaderBytes> bytes;
    encode(h, bytes);
    write(folder, name_of(h.type), '\0' + text(bytes));
    FrameHeader checked = h;
    checked.flags = kFlagChecked;
    checked.payload_crc = 0x12345678;
    encode(checked, bytes);
    write(folder, std::string(name_of(h.type)) + "-checked", '\0' + text(bytes));
    h.length = 1 << 20;
    encode(h, bytes);
    write(folder, std::string(name_of(h.type)) + "-too-long", '\0' + text(bytes));
  }
}

engine::PeerAddress address(Address::Family family, std::uint8_t last) {
  engine::PeerAddress a;
  a.address.family = family;
  a.address.prefix_bits = family == Address::Family::v4 ? 24 : 64;
  a.address.bytes = {10, 0, 0, last};
  a.port = 4000;
  return a;
}

void hellos(const fs::path& folder) {
  engine::Hello h;
  h.from = {1, 2, 3};
  h.to = {4, 5, 6};
  h.session = 99;
  h.peer = "host pid 123";
  for (int rails = 0; rails <= 2; ++rails) {
    write(folder, "first-" + std::to_string(rails) + "-rails", '\0' + text(engine::encode_hello(h)));
    h.rails.push_back({"eth" + std::to_string(rails),
                       25000,
                       {address(Address::Family::v4, 1), address(Address::Family::v6, 2)},
                       false});
  }
  h.kind = engine::Hello::Kind::welcome;
  write(folder, "welcome", '\3' + text(engine::encode_hello(h)));
  engine::Hello padded = engine::confirm_of(h);
  padded.padding_bytes = 40;
  write(folder, "confirm", '\3' + text(engine::encode_hello(padded)));
  h.kind = engine::Hello::Kind::join;
  h.rails.clear();
  write(folder, "join", '\1' + text(engine::encode_hello(h)));
  h.kind = engine::Hello::Kind::refused;
  h.refusal = engine::Hello::Refusal::stranger;
  h.reason = "no such instance";
  write(folder, "refused", '\2' + text(engine::encode_hello(h)));
  h.features = 1;
  write(folder, "features", '\0' + text(engine::encode_hello(h)));
  h.version = 1;
  write(folder, "version", '\0' + text(engine::encode_hello(h)));
  write(folder, "http",
        '\0' + std::string("GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: a scanner that probes at every door it "
                           "finds\r\n\r\n"));
}

// Writes challenges in the format of tests/fuzz/challenge.cc: one byte for role and key, then 80 bytes for each
// message, the first of which names its source.
void challenges(const fs::path& folder) {
  const auto from = [](char source, char at = 0, char change = 0) {
    return std::string{source, at, change} + std::string(engine::kChallengeBytes - 3, '\0');
  };
  for (const char ends : {'\0', '\1', '\2', '\3'}) {
    const std::string name = std::string(ends & 1 ? "dialler" : "acceptor") + (ends & 2 ? "" : "-without-key"),
                      head(1, ends);
    write(folder, name, head + from(1) + from(1));
    write(folder, name + "-reflected", head + from(3) + from(3));
    write(folder, name + "-altered-first", head + from(2, 20, 1));
    write(folder, name + "-altered-second", head + from(1) + from(2, 60, 1));
    write(folder, name + "-twice", head + from(1) + from(2, 0, 0) + from(1));
  }
  const std::string magic = "LKEAKEY1", hello = "LKEAWEV1";
  for (char kind = 1; kind <= 5; ++kind) {
    std::string message = magic + std::string{1, 0, kind, 0, kind, 0, 0, 0};
    message.resize(engine::kChallengeBytes);
    message[0] = 'L';  // its lowest bits, 0, name the input itself as the source
    for (const char ends : {'\0', '\1', '\2', '\3'})
      write(folder, "kind-" + std::to_string(kind) + "-to-" + std::to_string(ends), std::string(1, ends) + message);
  }
  write(folder, "hello", '\2' + hello + std::string(engine::kChallengeBytes - 8, '\0'));
}

void handles(const fs::path& folder) {
  engine::HandleContent c;
  c.instance = {9, 8, 7};
  c.listener = 5;
  for (int n = 0; n <= 4; ++n) {
    write(folder, "addresses-" + std::to_string(n), '\0' + text(engine::encode_handle(c)));
    c.addresses.push_back(address(n % 2 ? Address::Family::v6 : Address::Family::v4, std::uint8_t(n + 1)));
  }
  const std::string good = '\0' + text(engine::encode_handle(c));
  for (const std::size_t at : {0, 4, 6, 8, 32, 34, 100}) {
    std::string bad = good;
    bad[1 + at] = char(bad[1 + at] ^ 0x40);
    write(folder, "damaged-at-" + std::to_string(at), bad);
    bad[0] = 1;
    write(folder, "other-at-" + std::to_string(at), bad);
  }
}

// Returns acts, numbered as in SessionWorld::step(): act * 2 + lane.
std::string acts(std::initializer_list<int> bytes) {
  std::string out;
  for (const int b : bytes) out.push_back(char(b));
  return out;
}

void sessions(const fs::path& folder) {
  const std::string open = acts({0, 1, 7, 1}), all_out = acts({18, 15, 1, 15, 15}),
                    opened = acts({28, 4, 4, 0, 0, 0, 63, 0, 0, 0x80});
  const std::string send = acts({4, 0, 70}), grant = acts({28, 1, 4, 0, 0, 192 + 20, 192 + 20, 0, 0, 0x80}),
                    ack = acts({28, 2, 4, 0, 1, 0, 0, 0, 0, 0x80});
  const std::string incoming = acts({28, 3, 0, 0, 0, 7, 63, 0, 1, 0x80, 2, 0}), receive = acts({8, 0, 72});
  const std::string eager = acts({28, 0, 65, 0, 0, 0, 66, 0, 0x80, 1}),
                    segment = acts({28, 0, 64, 0, 0, 0, 72, 0, 0x80, 1});
  write(folder, "send", open + all_out + opened + send + grant + all_out + ack + all_out);
  write(folder, "send-eager", open + all_out + opened + send + all_out + ack + all_out);
  write(folder, "receive", incoming + receive + all_out + segment + all_out);
  write(folder, "receive-eager", incoming + eager + receive + all_out);
  write(folder, "receive-twice", incoming + receive + all_out + segment + segment + all_out);
  write(folder, "close", incoming + receive + open + all_out + opened + send + acts({36, 0, 37, 0}) + all_out);
  write(folder, "withdraw",
        incoming + receive + open + all_out + opened + acts({38, 0, 0}) + send + acts({39, 0, 0}) + all_out);
  write(folder, "lane-lost",
        open + all_out + opened + send + send + grant + acts({12, 15, 1, 40}) +
            acts({29, 7, 0, 0, 0, 2, 0, 0, 0, 0x80}) + acts({19, 15, 1, 15, 15}));
  write(folder, "goodbye",
        open + all_out + acts({46, 0, 1, 0, 0, 0, 0}) + acts({28, 8, 0, 0, 0, 0, 0, 0, 0, 0x80}) + all_out);
  write(folder, "abort", incoming + receive + acts({28, 6, 0, 0, 0, 0, 0, 0, 3, 0x80}) + all_out);
}

// blocks.cc reads these: an offer; or blocks, each as flags, length and bytes, with a budget after each.
void blocks(const fs::path& folder) {
  using namespace wire::message;
  for (const std::size_t address : {0, 1, 26, 128}) {
    const std::string offer = text(encode(ChannelOffer{{16 * KiB, 64}, std::vector<std::byte>(address)}));
    write(folder, "offer-" + std::to_string(address), '\1' + std::string(1, char(offer.size() & 63)) + offer);
  }
  const std::string frame = std::string("\20\0", 2) + std::string(62, '\0') + std::string(16, 'p');
  std::string many(1, '\0');
  for (int i = 0; i < 20; ++i) many += std::string("\0\77", 2) + frame.substr(0, 63) + '\377';
  write(folder, "frames", many);
  write(folder, "last", std::string("\0\20\0\377", 4) + many);
  write(folder, "credit", std::string("\0\2\1\0\0\0\0\0\0\0\0", 11) + many);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) == "--help") {
    std::printf(
        "usage: corpus_seeds FOLDER\nWrites FOLDER/{frame,hello,challenge,handle,session,blocks}/*, the seeds of "
        "tests/fuzz.\n");
    return argc == 2 ? 0 : 2;
  }
  const fs::path folder = argv[1];
  frames(folder / "frame");
  hellos(folder / "hello");
  challenges(folder / "challenge");
  handles(folder / "handle");
  blocks(folder / "blocks");
  sessions(folder / "session");
}
