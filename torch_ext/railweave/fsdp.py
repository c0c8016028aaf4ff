"""FSDP whose collectives go beside compute: docs/guide/fsdp.md says when each is waited for,
and why that changes no result."""

from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

from railweave import _fsdp1, _fsdp2

__all__ = ["overlap"]

_MARK = "_railweave_overlap"  # of a model that has it, and its layers


def _check_number(name, value, least, of):
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name}: expected a number of {of}, found {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected at least {least} {of}, found {value}")


def _policy(window):
    if isinstance(window, bool) or not isinstance(window, int | str):
        raise TypeError(f"window: expected a number of operations or a text, found {window!r}")
    if isinstance(window, int) and window < 1:
        raise ValueError(f"window: expected 1 operation or more, found {window}")
    return window if window in ("off", "auto") else f"window:{window}"


def _schedule(process_groups, window):
    policy = _policy(window)
    backends = [process_group._get_backend(device) for process_group, device in process_groups.items()]
    for backend in backends:
        if not hasattr(backend, "schedule_by"):
            raise TypeError(f"window: expected process groups of the backend railweave, found {backend.name()}")
    for backend in backends:
        try:
            backend.schedule_by(policy)
        except ValueError as refused:
            raise ValueError(f"window: found {window!r}, expected a number of operations, bytes as '64M', "
                             "'off' or 'auto'") from refused


def overlap(model, *, window=None, prefetch=2, reduce_scatters=2):
    """Lets the collectives of `model` go beside its compute: call it once, after ``fully_shard``,
    before the first forward.

    `model`: the root module that ``torch.distributed.fsdp.fully_shard`` was applied to, of float parameters on any
    device that the process group serves; or FSDP1's outermost ``FullyShardedDataParallel``, of which only the
    reduce-scatters go beside compute (in FULL_SHARD and SHARD_GRAD_OP): it has no place for other all-gathers.
    `window`: how much may move at once: a number of operations (2), bytes ("64M"), "off" (all), or "auto", which tries
    in the first steps and keeps the shortest; of the whole process, from here on. None: as RAILWEAVE_SCHEDULE says
    (docs/internals/scheduler.md).
    `prefetch`: how many layers (modules with ``fully_shard``) ahead parameters are gathered, each for one layer's
    parameters of memory; of as many what forward gathered is kept for backward, which begins with them. The first
    forward goes without: it records the order of layers, which then takes the place of prefetch lists that were set.
    0: only as torch does by itself, one ahead in backward.
    `reduce_scatters`: how many may be unfinished; each keeps one layer's gradients.
    A layer of several parameter groups keeps torch's own collectives: torch takes no others for it.

    Losses and gradients are bitwise those without it. Gradients may be read once ``backward()`` has returned, not
    within it. Every rank must call it alike. Returns `model`.

    Raises TypeError unless `model` is FSDP's, for numbers that are none, for a window that is neither number nor text,
    and for one where its groups are not railweave's; ValueError for a number below its least, for a window that there
    is not, for a model that has it already, or one of whose layers has, and for one of FSDP1 that is not the outermost
    (by its first forward, if none ran before), has a communication hook, or shards in no way that has a place for it.
    """
    fsdp1 = isinstance(model, FullyShardedDataParallel)
    if not fsdp1 and not isinstance(model, FSDPModule):
        raise TypeError("overlap: expected a module with fully_shard applied to it, or FSDP1's, "
                        f"found {type(model).__name__}")
    if any(hasattr(module, _MARK) for module in model.modules()):
        raise ValueError("overlap: this model has it already, or one of its layers")
    _check_number("prefetch", prefetch, 0, "layers")
    _check_number("reduce_scatters", reduce_scatters, 1, "operations")
    layers = [module for module in model.modules() if isinstance(module, FSDPModule)]
    states = _fsdp1.served(model) if fsdp1 else None  # refused before anything changes
    if window is not None:
        _schedule(_fsdp1.process_groups(model) if fsdp1 else _fsdp2.process_groups(layers), window)
    if fsdp1:
        _fsdp1.overlap(model, states, reduce_scatters)
    else:
        _fsdp2.overlap(model, layers, prefetch, reduce_scatters)
    for module in (model, *layers):
        setattr(module, _MARK, True)
    return model
