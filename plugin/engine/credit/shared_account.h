// One rail's account, shared by all processes of a user in a network namespace (docs/internals/credit_windows.md, "The
// account").
//
// The processes meet at an abstract socket named by version, user and interface index. The first process serves its
// memory there, and hands out with the memory the read end of a pipe into which nothing is ever written. The pipe ends
// when the serving process ends. Then the quickest of the others serves the same memory. (A process that begins in
// between may be quicker, and serve a memory of its own. The others then join this memory.)
//
// No call waits. Until an answer comes, the account is in this process's own memory. The account stays there while
// another user has the name, while the serving process is stopped, and while memory or descriptors are short.
//
// Threads: the reactor's; account() any. After close() the account stays usable in its memory. Call open() once.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "engine/credit/account_file.h"
#include "engine/credit/rail_account.h"
#include "engine/runtime/reactor.h"
#include "engine/runtime/unix_listener.h"

namespace railweave::engine {

class SharedAccount {
 public:
  // Pauses between tries to serve or be served. Each pause is twice the one before. The first pause is short, because
  // a process that ends may close its pipe before its socket: a dial in between fails.
  static constexpr Nanos kAgainFirst = std::chrono::milliseconds(10);
  static constexpr Nanos kAgainMost = std::chrono::seconds(1);

  SharedAccount(Reactor& reactor, int interface_index);
  ~SharedAccount() { close(); }
  SharedAccount(const SharedAccount&) = delete;
  SharedAccount& operator=(const SharedAccount&) = delete;

  // The same object for life. The account's memory changes when this process begins to serve or to be served.
  const std::shared_ptr<RailAccount>& account() const { return account_; }
  // Begins to serve, or dials the serving process. Where both fail, tries again after a pause. Returns no error.
  void open();
  // Closes all descriptors. Another process may serve the memory from then on. Idempotent.
  void close();

  // True while this process serves.
  bool serves() const { return listener_.is_open(); }
  // True while another process serves and account() is in the memory served.
  bool is_served() const { return bool(pulse_.fd); }
  // The abstract name at which this user's processes meet.
  static std::string name(int interface_index);

 private:
  // A descriptor, and the member function that is called when the descriptor is ready.
  struct Watched final : public Pollable {
    explicit Watched(SharedAccount& owner, void (SharedAccount::*act)(Watched&)) : owner_(owner), act_(act) {}
    void on_ready(std::uint32_t) override { (owner_.*act_)(*this); }
    OwnedFd fd;

   private:
    SharedAccount& owner_;
    void (SharedAccount::*act_)(Watched&);
  };

  bool serve();
  // Makes the memory and the pipe that a serving process hands out.
  bool prepare();
  void hand_out(int connection);
  // nobody: no process listens; in_vain: another user has the name, or the reactor cannot watch the connection
  enum class Dialled { connected, nobody, in_vain };
  Dialled dial();
  // Returns false, and closes `fd`, when the reactor cannot watch the descriptor.
  bool watch(Watched& watched, OwnedFd fd);
  void forget(Watched& watched);
  static void release(OwnedFd& guarded);
  void again_later();
  void on_answer(Watched&);
  bool take_answer(OwnedFd passed);
  void drop_offered();
  void on_pulse(Watched&);
  void use(AccountFile file);

  Reactor& reactor_;
  const std::string name_;
  const std::shared_ptr<RailAccount> account_ = std::make_shared<RailAccount>();
  // the file of account_'s memory; empty: that memory has no file, and is this process's own
  AccountFile file_;
  AccountFile offered_;    // received by answer_; used once the pipe has come, too
  UnixListener listener_;  // open while this process serves
  OwnedFd life_;           // while this process serves: the pipe's write end, which ends with this process
  // while this process serves: the pipe's read end; each process that dials gets a copy
  OwnedFd pulse_out_;
  Watched answer_;              // open while the memory, and then the pipe, are on their way from the serving process
  Watched pulse_;               // open while another process serves: the pipe's read end
  TimePoint served_since_{};    // when pulse_ was opened last
  Reactor::TimerId timer_ = 0;  // of the next try; 0: none is due
  bool other_user_logged_ = false;  // the log says that another user has the name
  Nanos again_ = kAgainFirst;       // the next pause
};

}  // namespace railweave::engine
