// Signals belong to the program's own threads: one of ours that starts under this has them blocked. Not so what the
// thread itself would cause (a fault): blocked, the kernel ends the process without a word to the program's own crash
// handler.
// Threads: of the one that makes it, and ends it.
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
