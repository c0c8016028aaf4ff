"""FSDP with collectives beside compute. docs/guide/fsdp.md says when each collective is waited for, and why no result
changes."""

from torch.distributed.fsdp import FSDPModule, FullyShardedDataParallel

from railweave import _fsdp1, _fsdp2

__all__ = ["overlap"]

_MARK = "_railweave_overlap"  # attribute of a model with overlap, and of its layers


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
    """Lets the collectives of `model` run beside its compute. Call it once, after ``fully_shard`` and before the first
    forward.

    `model`: the root module to which ``torch.distributed.fsdp.fully_shard`` was applied, of float parameters on any
    device that the process group serves; or FSDP1's outermost ``FullyShardedDataParallel``. FSDP1 takes no other
    all-gathers, so only its reduce-scatters run beside compute (in FULL_SHARD and SHARD_GRAD_OP).
    `window`: how much may move at once: a number of operations (2), bytes ("64M"), "off" (no limit), or "auto", which
    tries candidates in the first steps and keeps the one with the shortest. It holds for the whole process, from this
    call on. None: as RAILWEAVE_SCHEDULE says (docs/internals/scheduler.md).
    `prefetch`: how many layers (modules with ``fully_shard``) ahead parameters are gathered. Each takes one layer's
    parameters of memory. Backward begins with the last layers; for as many of these, what forward gathered is kept. The
    first forward runs without prefetch and records the order of layers, which then replaces prefetch lists that were
    set. 0: only torch's own prefetch, one ahead in backward.
    `reduce_scatters`: how many may be unfinished; each keeps one layer's gradients in memory.
    A layer of several parameter groups keeps torch's own collectives, because torch takes no others for it.

    Losses and gradients are bitwise the same as without overlap. Gradients may be read once ``backward()`` has
    returned, not within it. Every rank must call it with the same arguments. Returns `model`.

    Raises TypeError if `model` is not FSDP's, for a number that is no integer, and for a window that is neither number
    nor text. A window also raises TypeError if the model's groups are not railweave's. Raises ValueError for a number
    below its minimum, for an unknown window, and for a model that has overlap already, itself or in one of its layers.
    FSDP1's `model` raises ValueError if it is not the outermost (known by its first forward, if none ran before), has a
    communication hook, or shards in no way that takes one.
    """
    fsdp1 = isinstance(model, FullyShardedDataParallel)
    if not fsdp1 and not isinstance(model, FSDPModule):
        raise TypeError("overlap: expected a module with fully_shard applied to it, or FullyShardedDataParallel, "
                        f"found {type(model).__name__}")
    if any(hasattr(module, _MARK) for module in model.modules()):
        raise ValueError("overlap: this model, or one of its layers, has overlap already")
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
