"""A program's hints about the operations that it calls."""

from contextlib import contextmanager

from railweave._extension import _C


@contextmanager
def hints(priority):
    """Sets the priority of the operations that this thread calls within the ``with`` block.

    `priority`: ``"urgent"`` (first on the wire), ``"normal"`` (the default outside) or ``"bulk"`` (last). An operation
    must have the same priority on every rank. Operations of different priorities do not match, so one that is urgent
    at one rank and normal at another waits until its timeout. Operations of one group and one priority stay in their
    order.

    Raises ValueError for another priority.
    """
    known = _C.Priority.__members__
    if not isinstance(priority, str) or priority not in known:
        raise ValueError(f"priority: expected one of {', '.join(map(repr, known))}, found {priority!r}")
    before = _C.set_priority(known[priority])
    try:
        yield
    finally:
        _C.set_priority(before)
