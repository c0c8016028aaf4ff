#include "torch_ext/csrc/torch_store.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace railweave::torch_ext {
namespace {

using namespace std::chrono_literals;

const std::vector<std::uint8_t> kNoSuchKey{'r', 'w', ':', 'n', 'o', 'n', 'e'};

constexpr Nanos kFirstPause = 200us, kLongestPause = 20ms;

Status store_failed(const std::string& what, const std::string& key, const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);  // its what() includes a backtrace
  const char* why = of_torch ? of_torch->what_without_backtrace() : error.what();
  return Status(Code::remote, Scope::engine, "the store failed to " + what + " " + key + ": " + why);
}

class TorchStore final : public collectives::Store {
 public:
  explicit TorchStore(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  Status set(const std::string& key, const std::string& value) override {
    try {
      store_->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
      return {};
    } catch (const std::exception& error) {
      return store_failed("set", key, error);
    }
  }

  Result<std::string> get(const std::string& key, Nanos timeout) override {
    const TimePoint began = now();
    Nanos pause = kFirstPause;
    try {
      for (;;) {
        if (store_->check({key})) {
          const std::vector<std::uint8_t> value = read_now(key);
          if (value != kNoSuchKey) return std::string(value.begin(), value.end());
        }
        if (now() - began >= timeout)
          return Status(Code::timed_out, Scope::engine, "nobody set " + key + " in the store");
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
      }
    } catch (const std::exception& error) {
      return store_failed("get", key, error);
    }
  }

  Status remove(const std::string& key) override {
    try {
      store_->deleteKey(key);
    } catch (const std::exception&) {  // not every store can; keys left over name their owner
    }
    return {};
  }

 private:
  // Returns kNoSuchKey if the key was removed meanwhile: get() would wait for a new value, or find an empty one. For a
  // missing key compareSet() returns the expected value and sets nothing (torch 2.13: TCPStoreBackend, HashStore,
  // FileStore).
  std::vector<std::uint8_t> read_now(const std::string& key) {
    try {
      return store_->compareSet(key, kNoSuchKey, kNoSuchKey);
    } catch (const std::exception&) {  // not every store has compareSet()
      return store_->get(key);
    }
  }

  const c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace

std::shared_ptr<collectives::Store> store_of(c10::intrusive_ptr<c10d::Store> store) {
  return std::make_shared<TorchStore>(std::move(store));
}

}  // namespace railweave::torch_ext
