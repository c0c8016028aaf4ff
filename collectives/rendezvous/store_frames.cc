#include "collectives/rendezvous/store_frames.h"

#include <cstring>

namespace railweave::collectives {
namespace {

void put(std::string& to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to += char(value >> (8 * i));
}

std::uint32_t take_u32(const std::string& from, std::size_t at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(from[at + std::size_t(i)]);
  return value;
}

std::string framed(const std::string& body) {
  std::string frame;
  put(frame, std::uint32_t(body.size()));
  return frame + body;
}

}  // namespace

std::string encode(const StoreRequest& request) {
  std::string body(1, char(request.kind));
  put(body, request.timeout_ms);
  put(body, std::uint32_t(request.key.size()));
  return framed(body + request.key + request.value);
}

std::string encode_answer(bool found, std::string_view value) { return framed(char(found) + std::string(value)); }

std::string encode(const StoreNews& news) {
  std::string body(1, char(news.kind));
  put(body, std::uint32_t(news.key.size()));
  return framed(body + news.key + news.value);
}

std::optional<StoreNews> decode_news(const std::string& frame) {
  if (frame.size() < 5) return std::nullopt;
  StoreNews news;
  news.kind = StoreNews::Kind(frame[0]);
  if (news.kind < StoreNews::Kind::published || news.kind > StoreNews::Kind::ended) return std::nullopt;
  const std::size_t key_bytes = take_u32(frame, 1);
  if (key_bytes > frame.size() - 5) return std::nullopt;
  news.key = frame.substr(5, key_bytes);
  news.value = frame.substr(5 + key_bytes);
  return news;
}

bool impossible(const std::string& inbox) {
  if (inbox.size() < 4) return false;
  const std::uint32_t length = take_u32(inbox, 0);
  return length == 0 || length > kFrameBytesMax;
}

std::optional<std::string> take_frame(std::string& inbox) {
  if (inbox.size() < 4 || impossible(inbox)) return std::nullopt;
  const std::size_t length = take_u32(inbox, 0);
  if (inbox.size() < 4 + length) return std::nullopt;
  std::string frame = inbox.substr(4, length);
  inbox.erase(0, 4 + length);
  return frame;
}

std::optional<StoreRequest> decode(const std::string& frame) {
  if (frame.size() < 9) return std::nullopt;
  StoreRequest request;
  request.kind = StoreRequest::Kind(frame[0]);
  if (request.kind < StoreRequest::Kind::set || request.kind > StoreRequest::Kind::release) return std::nullopt;
  request.timeout_ms = take_u32(frame, 1);
  const std::size_t key_bytes = take_u32(frame, 5);
  if (key_bytes > frame.size() - 9) return std::nullopt;
  request.key = frame.substr(9, key_bytes);
  request.value = frame.substr(9 + key_bytes);
  return request;
}

}  // namespace railweave::collectives
