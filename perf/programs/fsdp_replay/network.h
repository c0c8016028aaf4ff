// Models how operations move among the members of a ring, in virtual time.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "fsdp_replay/admission.h"
#include "railweave/units.h"

namespace railweave::perf::fsdp_replay {

// Members are hosts, or the ranks of one host. Every operation takes members - 1 steps, each of its bytes / members.
struct Ring {
  int members = 1;
  Rate rate;        // of a member's link, each way
  Nanos latency{};  // of a step, in addition to its bytes

  double step_bytes(std::size_t operation_bytes) const { return double(operation_bytes) / members; }
  double bytes_moved(std::size_t operation_bytes) const { return step_bytes(operation_bytes) * (members - 1); }
  // Rounds up, so that a sum of parts is never below the time of all bytes.
  Nanos on_link(std::size_t bytes) const {
    return Nanos(std::int64_t(std::ceil(double(bytes) * 1e9 / rate.bytes_per_s)));
  }
  // Rounds down. Not Rate::time_for, which ends at an hour.
  Nanos on_wire(double bytes) const { return Nanos(std::int64_t(bytes * 1e9 / rate.bytes_per_s)); }
  // Returns the time of one operation that is alone on the ring.
  Nanos alone(std::size_t operation_bytes) const {
    return (members - 1) * (latency + on_wire(step_bytes(operation_bytes)));
  }
};

class Network {
 public:
  class User {
   public:
    virtual void ended(std::size_t member, std::size_t operation) = 0;

   protected:
    ~User() = default;
  };

  virtual ~Network() = default;
  // Begins an operation. REQUIRES: its data is ready.
  virtual void issue(std::size_t member, std::size_t operation) = 0;
  virtual Admission::Live live_most() const = 0;  // of the member with the most
};

}  // namespace railweave::perf::fsdp_replay
