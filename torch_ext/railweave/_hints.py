"""What a program says of the operations it calls."""

from contextlib import contextmanager

from railweave._C import Priority, set_priority


@contextmanager
def hints(priority):
    """Operations that this thread calls within go before others on the wire, or behind them.

    `priority`: ``"urgent"``, ``"normal"`` (what holds outside) or ``"bulk"``. It must be the same on every rank for
    each operation: operations of different priorities are told apart, so that one that is urgent at one rank and normal
    at another waits until its timeout. Operations of one group and one priority stay in their order.

    Raises ValueError for another priority.
    """
    known = Priority.__members__
    if not isinstance(priority, str) or priority not in known:
        raise ValueError(f"priority: expected one of {', '.join(map(repr, known))}, found {priority!r}")
    before = set_priority(known[priority])
    try:
        yield
    finally:
        set_priority(before)
