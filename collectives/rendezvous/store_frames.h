// Frames between a TcpStore's client and its server: length-prefixed, at most kFrameBytesMax bytes, little-endian.
//
//   request:  u32 length, u8 kind, u32 timeout_ms, u32 key length, key, value
//   answer:   u32 length, u8 found (1) or not (0), value
//   news:     u32 length, u8 kind, u32 key length, key, value; sent unrequested, between answers
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace railweave::collectives {

inline constexpr std::size_t kFrameBytesMax = 128 * 1024;

struct StoreRequest {
  // publish: set, and news to all clients. claim: answered "not found" while another client holds the key; the key is
  // free once that client is gone or has sent as many releases as claims. release: has no answer.
  enum class Kind : std::uint8_t { set = 1, get = 2, remove = 3, publish = 4, claim = 5, release = 6 };
  Kind kind = Kind::get;
  std::uint32_t timeout_ms = 0;
  std::string key, value;
};

std::string encode(const StoreRequest& request);
std::string encode_answer(bool found, std::string_view value);

struct StoreNews {
  // ended: the server leaves in order and sends no further frame.
  enum class Kind : std::uint8_t { published = 2, withdrawn = 3, ended = 4 };
  Kind kind = Kind::ended;
  std::string key, value;
};

std::string encode(const StoreNews& news);
// Decodes `frame`; nullopt: the frame is an answer.
std::optional<StoreNews> decode_news(const std::string& frame);

// Removes the first whole frame from `inbox` and returns it without its length; nullopt: more bytes are needed, or the
// length is impossible().
std::optional<std::string> take_frame(std::string& inbox);
// Returns whether the next length is 0 or above kFrameBytesMax: the peer speaks another protocol.
bool impossible(const std::string& inbox);
// Decodes a request; nullopt: malformed.
std::optional<StoreRequest> decode(const std::string& frame);

}  // namespace railweave::collectives
