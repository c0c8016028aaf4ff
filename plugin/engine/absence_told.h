// What an engine has said already of rails that carry nothing: of many peers the first is named, the others would fill the log.
//
// One thread at a time.
#pragma once

#include <cstdint>

namespace railweave::engine {

class AbsenceTold {
 public:
  // True the first time.
  bool ours(int rail);
  // True the first few times.
  bool peers();

 private:
  static constexpr int kPeersMost = 4;
  std::uint64_t ours_ = 0;  // bits of our rails
  int peers_ = 0;
};

}  // namespace railweave::engine
