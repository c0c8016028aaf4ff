"""Unfinished reduce-scatters, which are waited for later."""

from collections import deque

from railweave._backward import BackwardEnd


class Unfinished:
    """The unfinished reduce-scatters of one model, the oldest first. The end of a backward waits for those that are
    left. Threads: of forward and autograd, one at a time."""

    def __init__(self, most):
        self._most = most
        self._works = deque()
        self.backward_end = BackwardEnd()
        self.backward_end.add(self.finish)

    def make_room(self):
        """Waits until there is room for one more."""
        self._wait_down_to(self._most - 1)

    def finish(self):
        """Waits for all."""
        self._wait_down_to(0)

    def add(self, work):
        """Adds a reduce-scatter. REQUIRES: within backward."""
        self._works.append(work)
        self.backward_end.note()

    def _wait_down_to(self, most):
        """Waits for the oldest. If one fails, waits for all others, too, because they may belong to other groups; then
        raises the first failure."""
        failed = None
        while len(self._works) > (most if failed is None else 0):
            try:
                self._works[0].wait()
            except Exception as error:  # an interrupt leaves the work in the queue
                failed = failed or error
            self._works.popleft()
        if failed is not None:
            raise failed
