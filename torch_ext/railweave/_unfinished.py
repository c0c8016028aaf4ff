"""Reduce-scatters that nobody waits for yet."""

from collections import deque

from railweave._backward import BackwardEnd


class Unfinished:
    """Those of one model, the oldest first; what is left at a backward's end is waited for there. Threads: those of
    forward and autograd, one at a time."""

    def __init__(self, most):
        self._most = most
        self._works = deque()
        self.backward_end = BackwardEnd()
        self.backward_end.add(self.finish)

    def make_room(self):
        """Waits until there are fewer than the most."""
        self._wait_down_to(self._most - 1)

    def finish(self):
        """Waits for all."""
        self._wait_down_to(0)

    def add(self, work):
        """Within backward."""
        self._works.append(work)
        self.backward_end.note()

    def _wait_down_to(self, most):
        """Where one fails the rest is waited for, too: it may be another group's. The first failure is raised."""
        failed = None
        while len(self._works) > (most if failed is None else 0):
            try:
                self._works[0].wait()
            except Exception as error:  # what interrupts leaves it to be waited for
                failed = failed or error
            self._works.popleft()
        if failed is not None:
            raise failed
