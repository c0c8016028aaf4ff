// rtnetlink: dumps (ask, and hear every message of the answer), single requests, and the parts of a message.
// Threads: any. Blocks only for the kernel's own answer. Errors: Code::system.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "railweave/status.h"
#include "railweave/units.h"

namespace railweave::discovery {

using Bytes = std::span<const std::byte>;

// IFF_LOWER_UP, which <net/if.h> lacks and <linux/if.h> cannot share a file with
inline constexpr unsigned kLowerUp = 1u << 16;

// Sends a dump request of `type` (RTM_GETLINK, RTM_GETADDR) and calls `each` with the body of every message of type
// `answer`. When the kernel says that the dump was torn by a change it is asked again: `restart` runs before every try.
Status netlink_dump(int type, int answer, const std::function<void()>& restart, const std::function<void(Bytes)>& each);

// What the kernel answered to one request.
struct NetlinkAnswer {
  int error = 0;                // errno by which the kernel refused the request; 0: `body` is the answer
  std::vector<std::byte> body;  // of the answering message, behind its header
};

// Sends one request of `type` with `body` (the fixed part and its attributes) on a socket of its own and waits for the
// answer, at most kNetlinkPatience. Errors: system; timed out is EAGAIN. A refusal by the kernel is an answer.
inline constexpr Nanos kNetlinkPatience = std::chrono::milliseconds(200);
Result<NetlinkAnswer> netlink_ask(int type, Bytes body);

// Appends an attribute to a request's body. REQUIRES: `body` is padded to 4 bytes, as this leaves it.
void add_attribute(std::vector<std::byte>& body, int type, Bytes value);

// Calls `each` with header and body of every message of a datagram; false ends the walk, as a malformed rest does.
void for_each_message(Bytes datagram, const std::function<bool(const nlmsghdr& header, Bytes body)>& each);

// Calls `each` with type (flags stripped) and body of every attribute of `body` behind its fixed part of `skip` bytes.
// A malformed tail ends the walk.
void for_each_attribute(Bytes body, std::size_t skip, const std::function<void(int type, Bytes value)>& each);

// The attribute's value as a native integer; none when it is too short.
std::optional<std::uint32_t> attribute_u32(Bytes value);

}  // namespace railweave::discovery
