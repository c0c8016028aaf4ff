#include "collectives/engine_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

namespace railweave::collectives {

EngineGroup::~EngineGroup() {
  runner_->remove(*this);
  fail(Status(Code::cancelled, Scope::engine, fmt::format("group '{}' was closed", options_.name)));
  for (auto& callback : take_callbacks()) callback();
}

void EngineGroup::join(std::unique_ptr<Links> links, Planner planner) {
  links_ = std::move(links);
  planner_ = std::make_unique<Planner>(std::move(planner));
  messages_ = std::make_unique<Messages>(
      *links_, options_.size, kClasses * kChannelsPerClass,
      [this](Ticket& ticket, Status status, int source, std::size_t bytes) { finish(ticket, std::move(status), source, bytes); });
  runner_->add(*this);
}

void EngineGroup::plan_by(Planner planner) {
  const auto held = runner_->lock();
  *planner_ = std::move(planner);
}

// ------------------------------------------------------------------------------------------------------------- issuing

std::shared_ptr<Ticket> EngineGroup::new_ticket() {
  return std::make_shared<Ticket>(runner_, [weak = weak_from_this()](const std::string& why) {
    if (const auto self = weak.lock()) self->abort(why);
  });
}

WorkPtr EngineGroup::submit(Call call) {
  auto ticket = new_ticket();
  if (const Status refused = check(call); !refused.ok()) {
    (void)ticket->finish(refused);  // nobody can have asked for a callback yet
    return ticket;
  }
  const bool promptly = call.input_bytes() + call.output_bytes() >= kPromptBytes;
  {
    const std::lock_guard lock(submissions_mutex_);
    submissions_.push_back({ticket, std::move(call), {}, false});
  }
  runner_->submitted(promptly);
  return ticket;
}

WorkPtr EngineGroup::submit(Message message, const Status& refused) {
  auto ticket = new_ticket();
  if (!refused.ok()) {
    (void)ticket->finish(refused);
    return ticket;
  }
  {
    const std::lock_guard lock(submissions_mutex_);
    submissions_.push_back({ticket, {}, message, true});
  }
  runner_->submitted(message.bytes >= kPromptBytes);
  return ticket;
}

// ------------------------------------------------------------------------------------------------- under the runner's lock

void EngineGroup::finish(Ticket& ticket, Status status, int source, std::size_t bytes) {
  for (auto& callback : ticket.finish(std::move(status), source, bytes)) callbacks_.push_back(std::move(callback));
}

bool EngineGroup::busy() const { return !running_.empty() || !admission_.empty() || (messages_ && messages_->busy()); }

bool EngineGroup::advance() {
  take_submissions();
  if (!failed_.ok()) return false;
  Status failure;
  bool moved = false;
  while (failure.ok()) {
    auto next = admission_.next();
    if (!next) break;
    failure = start(std::move(*next));
    moved = true;
  }
  if (failure.ok()) moved |= run(failure);
  if (failure.ok()) failure = hear_of_losses(moved);
  if (!failure.ok()) fail(std::move(failure));
  return moved;
}

void EngineGroup::take_submissions() {
  const std::lock_guard lock(submissions_mutex_);
  for (Submitted& s : submissions_) {
    if (failed_.ok()) {
      admission_.ask(std::move(s));
    } else {
      finish(*s.ticket, failed_);
    }
  }
  submissions_.clear();
}

Status EngineGroup::start(Submitted submitted) {
  if (submitted.is_message) {
    messages_->add(std::move(submitted.ticket), submitted.message);
    return {};
  }
  const Call& call = submitted.call;
  const int priority = int(call.hints.priority);
  const int channel = priority * kChannelsPerClass + int(issued_[priority]++ % kChannelsPerClass);
  auto plan = planner_->plan(call.problem);
  const std::size_t scratch_bytes = plan->schedule().scratch_bytes;
  Scratch::Block scratch = scratch_.take(scratch_bytes);
  if (scratch_bytes > 0 && !scratch.memory) {
    Status why(Code::exhausted, Scope::session, fmt::format("no {} bytes of memory for an operation", scratch_bytes));
    finish(*submitted.ticket, why);
    return why;
  }
  const Execution::Memory memory{static_cast<const std::byte*>(call.input), static_cast<std::byte*>(call.output), scratch.memory.get()};
  auto execution = std::make_unique<Execution>(std::move(plan), memory, call.how, *links_, channel, call.hints.priority);
  running_.push_back({std::move(submitted.ticket), std::move(scratch), std::move(execution)});
  return {};
}

bool EngineGroup::run(Status& failed) {
  bool moved = false;
  if (failed = links_->advance(); !failed.ok()) return false;
  for (auto r = running_.begin(); r != running_.end();) {
    auto did = r->execution->advance();
    if (!did.ok()) return failed = did.status(), moved;
    moved |= *did;
    if (!r->execution->done()) {
      ++r;
      continue;
    }
    finish(*r->ticket, {});
    scratch_.give_back(std::move(r->scratch));
    r = running_.erase(r);
    moved = true;
  }
  if (!messages_->busy()) return moved;
  auto did = messages_->advance();
  if (!did.ok()) return failed = did.status(), moved;
  return moved || *did;
}

// A rank that was lost to another may owe us nothing just now: then only the store tells.
Status EngineGroup::hear_of_losses(bool moved) {
  if (!heard_.empty()) return Status(Code::remote, Scope::session, heard_);
  if (moved || !busy()) {
    quiet_since_ = TimePoint{};
    return {};
  }
  const TimePoint t = now();
  if (quiet_since_ == TimePoint{}) quiet_since_ = t;
  if (asking_ || t - quiet_since_ < kAskEvery) return {};
  quiet_since_ = t;
  asking_ = true;
  callbacks_.push_back([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->ask_for_losses();
  });
  return {};
}

// The store may take its time; only who asks waits for it.
void EngineGroup::ask_for_losses() {
  std::string why = place_.blamed();
  const auto held = runner_->lock();
  heard_ = std::move(why);
  asking_ = false;
}

// Streams go first: after that nothing touches the callers' memory, and they may be told.
void EngineGroup::fail(Status why) {
  take_submissions();
  if (!failed_.ok()) return;
  if (why.code() != Code::cancelled || busy()) {
    const std::string blamed = place_.blamed();
    if (blamed.empty()) place_.blame(why.message());
    if (!blamed.empty() && blamed != why.message()) why = Status(why.code(), why.scope(), blamed, why.system_errno());
  }
  failed_ = Status(why.code(), why.scope(), fmt::format("group '{}', rank {}: {}", options_.name, options_.rank, why.message()),
                   why.system_errno());
  if (why.code() != Code::cancelled) RW_WARN(net, "{}", failed_.message());
  links_.reset();
  for (Running& r : running_) finish(*r.ticket, failed_);
  running_.clear();
  if (messages_)
    for (const auto& ticket : messages_->abandon()) finish(*ticket, failed_);
  while (auto waiting = admission_.next()) finish(*waiting->ticket, failed_);
}

void EngineGroup::abort(const std::string& why) {
  std::vector<std::function<void()>> callbacks;
  {
    const auto held = runner_->lock();
    fail(Status(Code::cancelled, Scope::engine, why));
    callbacks = take_callbacks();
  }
  for (auto& callback : callbacks) callback();
}

}  // namespace railweave::collectives
