"""Reduce-scatters that nobody waits for yet."""

from collections import deque

import torch
from torch.autograd import Variable


class Unfinished:
    """Those of one model, the oldest first. Threads: autograd's."""

    def __init__(self, most):
        self._most = most
        self._works = deque()
        self._backward = None  # the id of the one at whose end _end runs

    def make_room(self):
        """Waits until there are fewer than the most."""
        self._wait_down_to(self._most - 1)

    def finish(self):
        """Waits for all. One that failed is raised, and those behind it are no longer kept: their group is over too."""
        self._wait_down_to(0)

    def add(self, work):
        """Within backward: it is waited for at the end of it."""
        self._works.append(work)
        current = torch._C._current_graph_task_id()
        if current != self._backward:
            Variable._execution_engine.queue_callback(self._end)
            self._backward = current

    def _end(self):
        self._backward = None
        self.finish()

    def _wait_down_to(self, most):
        try:
            while len(self._works) > most:
                self._works.popleft().wait()
        except BaseException:
            self._works.clear()
            raise


def in_backward():
    """Whether there is one whose end could be waited for: pipeline stages call FSDP's hooks by hand."""
    return torch._C._current_graph_task_id() != -1
