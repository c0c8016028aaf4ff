#include "top/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "common/console.h"
#include "top/frame.h"

namespace railweave::top {
namespace {

// xterm's control sequences, which every terminal of today knows.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";  // the alternate screen, no cursor
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kRedraw = "\x1b[H\x1b[J";  // to the upper left corner, clear all below

winsize size_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {24, 80, 0, 0};
  return size;
}

}  // namespace

Screen::Screen(bool plain) : terminal_(!plain && ::isatty(STDOUT_FILENO) == 1) {
  if (terminal_) perf::say("{}", kEnter);
}

Screen::~Screen() {
  if (terminal_) perf::say("{}", kLeave);
}

bool Screen::show(const std::string& title, const std::string& text) const {
  if (terminal_) {
    const winsize size = size_of_terminal();
    perf::say("{}{}", kRedraw, fit_screen(title + "\n\n" + text, size.ws_row - 1u, size.ws_col));
  } else {
    perf::say("{}\n", text);
  }
  return std::fflush(stdout) == 0 && !std::ferror(stdout);
}

}  // namespace railweave::top
