"""Runs work in a thread beside other work."""

import threading

from .processes import end_all


class Beside:
    """Runs run(interrupted) in its own thread during the block. The end of the block waits for run() and raises its
    exception. After an exception of the block, sets the event `interrupted`, ends everything that any thread runs by
    run_lines(), and drops the exception of run()."""

    def __init__(self, run):
        self.thread = threading.Thread(target=self.go, args=(run,), daemon=True)
        self.interrupted, self.error = threading.Event(), None

    def go(self, run):
        try:
            run(self.interrupted)
        except BaseException as error:  # noqa: BLE001, raised at the end of the block
            self.error = error

    def __enter__(self):
        self.thread.start()

    def __exit__(self, kind, *_):
        try:
            while kind is None and self.thread.is_alive():
                self.thread.join(0.2)  # join() without a limit would not let a signal handler run
        finally:
            if self.thread.is_alive():
                self.interrupted.set()
            while self.thread.is_alive():
                end_all()
                self.thread.join(0.2)
        if kind is None and self.error:
            raise self.error
