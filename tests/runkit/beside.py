"""Work that goes on beside other work."""

import threading

from .processes import end_all


class Beside:
    """Within it run(interrupted) is at work in a thread of its own. At the end it is waited for, and what it raised is
    raised here. After an exception of the body `interrupted`, an event, is set, all that any thread runs by run_lines()
    is ended, and what run() raised is dropped."""

    def __init__(self, run):
        self.thread = threading.Thread(target=self.go, args=(run,), daemon=True)
        self.interrupted, self.error = threading.Event(), None

    def go(self, run):
        try:
            run(self.interrupted)
        except BaseException as error:  # noqa: BLE001, told where it is waited for
            self.error = error

    def __enter__(self):
        self.thread.start()

    def __exit__(self, kind, *_):
        try:
            while kind is None and self.thread.is_alive():
                self.thread.join(0.2)  # one without end would not hear of a signal
        finally:
            if self.thread.is_alive():
                self.interrupted.set()
            while self.thread.is_alive():
                end_all()
                self.thread.join(0.2)
        if kind is None and self.error:
            raise self.error
