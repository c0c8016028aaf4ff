// rtnetlink: dumps (one request, many answering messages), single requests, and the parts of a message.
// Threads: any. Calls block for the kernel's answer only. Errors: Code::system.
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

// IFF_LOWER_UP: <net/if.h> lacks it, and <linux/if.h> cannot be included beside <net/if.h>
inline constexpr unsigned kLowerUp = 1u << 16;

// Sends a dump request of `type` (RTM_GETLINK, RTM_GETADDR) and calls `each` with the body of every message of type
// `answer`. If a change interrupted the dump (NLM_F_DUMP_INTR), the request is repeated, five tries at most; the last
// try counts even if interrupted. `restart` runs before every try.
Status netlink_dump(int type, int answer, const std::function<void()>& restart, const std::function<void(Bytes)>& each);

// The kernel's answer to one request.
struct NetlinkAnswer {
  int error = 0;                // errno with which the kernel refused the request; 0: `body` is the answer
  std::vector<std::byte> body;  // body of the answering message, without the header
};

// Sends one request of `type` with `body` (the fixed part and its attributes) on a socket of its own. Waits for the
// answer, at most kNetlinkPatience. Errors: system; EAGAIN after a timeout. A refusal by the kernel is an answer.
inline constexpr Nanos kNetlinkPatience = std::chrono::milliseconds(200);
Result<NetlinkAnswer> netlink_ask(int type, Bytes body);

// Appends an attribute to a request's body, padded to 4 bytes. REQUIRES: the size of `body` is a multiple of 4.
void add_attribute(std::vector<std::byte>& body, int type, Bytes value);

// Calls `each` with the header and body of every message of a datagram. The walk ends if `each` returns false, and at a
// malformed message.
void for_each_message(Bytes datagram, const std::function<bool(const nlmsghdr& header, Bytes body)>& each);

// Calls `each` with the type (flags stripped) and value of every attribute in `body`, after the fixed part of `skip`
// bytes. The walk ends at a malformed attribute.
void for_each_attribute(Bytes body, std::size_t skip, const std::function<void(int type, Bytes value)>& each);

// Returns the attribute's value as a native integer; nullopt if the value is too short.
std::optional<std::uint32_t> attribute_u32(Bytes value);

}  // namespace railweave::discovery
