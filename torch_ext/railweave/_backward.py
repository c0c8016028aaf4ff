"""Where the backward that is running ends. Threads: autograd's, one at a time."""

import torch
from torch.autograd import Variable


def in_backward():
    """Whether there is one whose end could be waited for: pipeline stages call FSDP's hooks by hand."""
    return torch._C._current_graph_task_id() != -1


class BackwardEnd:
    """Calls what was added, in that order, once at the end of each backward in which note() was called. One that raises
    has none: it stays open, as does one where such a call raises."""

    def __init__(self):
        self._calls = []
        self._noted = set()  # ids: one may run within another

    def add(self, call):
        self._calls.append(call)

    @property
    def open(self):
        """Since a note()."""
        return bool(self._noted)

    def note(self):
        """Within backward."""
        current = torch._C._current_graph_task_id()
        if current not in self._noted:
            Variable._execution_engine.queue_callback(lambda: self._ended(current))
            self._noted.add(current)

    def forget(self):
        """Of those that raised."""
        self._noted.clear()

    def _ended(self, which):
        for call in self._calls:
            call()
        self._noted.discard(which)
