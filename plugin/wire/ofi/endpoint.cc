#if __has_include(<rdma/fabric.h>)
#include "wire/ofi/endpoint.h"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <cassert>
#include <string>

#include "base/error.h"
#include "wire/ofi/failure.h"
#include "wire/ofi/peer_address.h"

namespace railweave::wire::ofi {
namespace {

// Twice the slots: a provider may keep places for completions that it has not reported yet.
constexpr std::size_t kQueueEntries = 2 * std::size_t(2 * kSlotsMost);

// Names the call that failed. `error`: negative; 0: no error.
Status named(const Library& library, const Provider& provider, const char* call, int error) {
  if (error == 0) return {};
  const Status status = failure(library, fmt::format("provider {}: {}", provider.name(), call), error);
  if (error != -FI_ENOMEM) return Status(Code::system, Scope::lane, status.message(), status.system_errno());
  return Status(Code::exhausted, Scope::lane,
                status.message() + "; if the device pins memory, raise RLIMIT_MEMLOCK (ulimit -l unlimited)",
                status.system_errno());
}

}  // namespace

Result<std::unique_ptr<Endpoint>> Endpoint::open(const Library& library, fid_fabric* fabric, const Provider& provider) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint(provider.shape));
  const Status opened = endpoint->open_all(library, fabric, provider);
  if (opened.ok()) return endpoint;
  // What is not closed at once stays for ever. Nothing is under way at an endpoint that never worked.
  if (!endpoint->close_now()) (void)endpoint.release();
  return opened;
}

Endpoint::~Endpoint() { assert(!endpoint_ && !domain_); }

Status Endpoint::open_all(const Library& library, fid_fabric* fabric, const Provider& provider) {
  const auto named_error = [&](const char* call, int error) { return named(library, provider, call, error); };
  memory_.reset(new (kPage, std::nothrow) std::byte[memory_bytes()]);
  RW_TRY(named_error("memory of slots", memory_ ? 0 : -FI_ENOMEM));
  RW_TRY(named_error("fi_domain", fi_domain(fabric, provider.info.get(), &domain_, nullptr)));
  fi_av_attr attributes{};
  attributes.type = FI_AV_UNSPEC;
  attributes.count = 1;
  RW_TRY(named_error("fi_av_open", fi_av_open(domain_, &attributes, &addresses_, nullptr)));
  if (provider.needs_polling() || open_queue(true) != 0) RW_TRY(named_error("fi_cq_open", open_queue(false)));
  RW_TRY(named_error("fi_endpoint", fi_endpoint(domain_, provider.info.get(), &endpoint_, nullptr)));
  RW_TRY(named_error("fi_ep_bind", fi_ep_bind(endpoint_, &addresses_->fid, 0)));
  RW_TRY(named_error("fi_ep_bind", fi_ep_bind(endpoint_, &queue_->fid, FI_SEND | FI_RECV)));
  RW_TRY(named_error("fi_enable", fi_enable(endpoint_)));
  RW_TRY(named_error("fi_mr_reg", register_memory(provider)));
  return named_error("fi_getname", ask_name());
}

// Opens the completion queue. `waits`: with a descriptor; fails where the provider has none.
int Endpoint::open_queue(bool waits) {
  fi_cq_attr attributes{};
  attributes.size = kQueueEntries;
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = waits ? FI_WAIT_FD : FI_WAIT_NONE;
  if (const int error = fi_cq_open(domain_, &attributes, &queue_, nullptr); error != 0) return error;
  if (!waits) return 0;
  const int error = fi_control(&queue_->fid, FI_GETWAIT, &descriptor_);
  if (error == 0) return 0;
  descriptor_ = -1;
  return closed(queue_) ? error : 0;  // a queue that stays open serves without a descriptor
}

int Endpoint::register_memory(const Provider& provider) {
  if (!provider.memory_mode(FI_MR_LOCAL)) return 0;
  if (const int error =
          fi_mr_reg(domain_, memory_.get(), memory_bytes(), FI_SEND | FI_RECV, 0, 0, 0, &memory_region_, nullptr))
    return error;
  if (!provider.memory_mode(FI_MR_ENDPOINT)) return 0;
  if (const int error = fi_mr_bind(memory_region_, &endpoint_->fid, 0)) return error;
  return fi_mr_enable(memory_region_);
}

int Endpoint::ask_name() {
  name_.resize(kNameBytesMax);
  std::size_t bytes = name_.size();
  const int error = fi_getname(&endpoint_->fid, name_.data(), &bytes);
  if (error == 0 && bytes > 0 && bytes <= name_.size()) {
    name_.resize(bytes);
    return 0;
  }
  return error != 0 ? error : -FI_ETOOSMALL;
}

template <class Object>
bool Endpoint::closed(Object*& object) {
  if (!object) return true;
  close_error_ = fi_close(&object->fid);
  if (close_error_ == 0) object = nullptr;
  return !object;
}

// Some providers close an endpoint only after the memory that is bound to it.
bool Endpoint::close_now() {
  if (!closed(endpoint_) && !(closed(memory_region_) && closed(endpoint_))) return false;
  return closed(memory_region_) && closed(queue_) && closed(addresses_) && closed(domain_);
}

std::uint32_t Endpoint::slot_of(const void* context) const {
  const auto from = reinterpret_cast<std::uintptr_t>(contexts_.data()), at = reinterpret_cast<std::uintptr_t>(context);
  if (at < from || at >= from + sizeof contexts_) return all_slots();
  return std::uint32_t((at - from) / sizeof contexts_[0]);
}

}  // namespace railweave::wire::ofi
#endif
