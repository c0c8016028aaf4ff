"""Shows progress."""

import sys
import time


class Progress:
    """A line that is rewritten on a terminal; elsewhere a line every `every_s` seconds."""

    def __init__(self, every_s=15):
        self.tty, self.every_s, self.last = sys.stdout.isatty(), every_s, time.monotonic()

    def show(self, text):
        if self.tty:
            print(f"\r\033[K{text[:110]}", end="", flush=True)
        elif time.monotonic() - self.last > self.every_s:
            self.last = time.monotonic()
            print(f"  {text}", flush=True)

    def clear(self):
        if self.tty:
            print("\r\033[K", end="", flush=True)
