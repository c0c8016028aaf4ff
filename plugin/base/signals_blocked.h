// SignalsBlocked: blocks signals in the calling thread until its destruction. A thread that starts meanwhile inherits
// the mask: signals belong to the program's own threads, not to the library's. Signals of the thread's own faults stay
// unblocked. A blocked fault would end the process without calling the program's crash handler.
// Threads: made and destroyed by the same thread.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace railweave {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&others, own);
    pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace railweave
