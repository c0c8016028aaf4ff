// What goes between a TcpStore's client and its server: length-prefixed frames of at most kFrameBytesMax, in the byte
// order of little-endian machines.
//   request:  u32 length, u8 kind, u32 timeout_ms, u32 key length, key, value
//   answer:   u32 length, u8 found (1) or not (0), value
//   news:     u32 length, u8 kind, u32 key length, key, value; unasked for, between answers
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::collectives {

inline constexpr std::size_t kFrameBytesMax = 128 * 1024;

struct StoreRequest {
  // publish: set, and news to all. claim: not found when another client holds the key; free again once that one is
  // gone, or has released it as often as it was claimed. release: has no answer.
  enum class Kind : std::uint8_t { set = 1, get = 2, remove = 3, publish = 4, claim = 5, release = 6 };
  Kind kind = Kind::get;
  std::uint32_t timeout_ms = 0;
  std::string key, value;
};

std::string encode(const StoreRequest& request);
std::string encode_answer(bool found, std::string_view value);

struct StoreNews {
  // ended: the server leaves in order, and says no more.
  enum class Kind : std::uint8_t { published = 2, withdrawn = 3, ended = 4 };
  Kind kind = Kind::ended;
  std::string key, value;
};

std::string encode(const StoreNews& news);
// Nothing: it is an answer.
std::optional<StoreNews> decode_news(const std::string& frame);

// The first whole frame of `inbox`, without its length; taken out of it. Nothing: more bytes are needed.
std::optional<std::string> take_frame(std::string& inbox);
// The peer speaks something else: its frame can never be whole.
bool impossible(const std::string& inbox);
std::optional<StoreRequest> decode(const std::string& frame);

}  // namespace railweave::collectives
