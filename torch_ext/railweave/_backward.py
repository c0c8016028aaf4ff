"""The end of the backward pass that is running. Threads: autograd's, one at a time."""

import torch
from torch.autograd import Variable


def in_backward():
    """Returns true if a backward pass is running whose end can be waited for. Pipeline stages call FSDP's hooks by
    hand, outside of any."""
    return torch._C._current_graph_task_id() != -1


class BackwardEnd:
    """Runs the added calls, in order, once at the end of each backward pass in which note() was called. A pass that
    raises has no such end and stays open; so does a pass in which one of the calls raises."""

    def __init__(self):
        self._calls = []
        self._noted = set()  # ids of passes: one may run within another

    def add(self, call):
        self._calls.append(call)

    @property
    def open(self):
        """True from a note() until the calls of its pass have run."""
        return bool(self._noted)

    def note(self):
        """Requests the calls at the end of the running pass. REQUIRES: within backward."""
        current = torch._C._current_graph_task_id()
        if current not in self._noted:
            Variable._execution_engine.queue_callback(lambda: self._ended(current))
            self._noted.add(current)

    def forget(self):
        """Forgets passes that raised."""
        self._noted.clear()

    def _ended(self, which):
        for call in self._calls:
            call()
        self._noted.discard(which)
