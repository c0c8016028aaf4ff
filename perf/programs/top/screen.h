// Shows frames on stdout: a terminal is redrawn, another stdout gets one frame behind the other.
#pragma once

#include <string>

namespace railweave::top {

// Restores the terminal when it ends. Threads: one.
class Screen {
 public:
  // `plain`: treat stdout as no terminal.
  explicit Screen(bool plain);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // `title` is shown on a terminal only. Returns false if stdout takes no more (a closed pipe, a full disk).
  bool show(const std::string& title, const std::string& text) const;

 private:
  const bool terminal_;
};

}  // namespace railweave::top
