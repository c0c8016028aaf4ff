"""Runs FSDP1's reduce-scatters beside its backward, by its communication hook: FSDP1 takes other collectives nowhere
else. FSDP1 waits for its all-gathers of CPU tensors where it calls them."""

from torch.distributed.fsdp._traversal_utils import _get_fsdp_states

from railweave._backward import in_backward
from railweave._collectives import reduce_scatter
from railweave._unfinished import Unfinished

_SERVED = ("FULL_SHARD", "SHARD_GRAD_OP")  # torch takes no hook in other strategies, or calls it differently


class _Divided:
    """A reduce-scatter whose result is divided once it has arrived."""

    def __init__(self, work, result, by):
        self._work, self._result, self._by = work, result, by

    def wait(self):
        self._work.wait()
        if self._by > 1:
            self._result.div_(self._by)


def _late_reduce_scatter(unfinished, state):
    """Returns the hook that FSDP1 calls for the gradient of one flat parameter, in place of the code of torch's
    _reduce_grad."""

    def hook(_, whole, shard):
        handle = state._handle
        if state._gradient_predivide_factor > 1:
            whole.div_(state._gradient_predivide_factor)
        unfinished.make_room()
        group = handle._fake_process_group if getattr(handle, "_use_fake_reduce", False) else state.process_group
        work = _Divided(reduce_scatter(shard, whole, group=group, async_op=True), shard,
                        state._gradient_postdivide_factor)
        if _is_final(handle, shard):
            unfinished.add(work)
        else:
            unfinished.finish()  # the result may be added to that of an earlier one
            work.wait()

    return hook


def _is_final(handle, shard):
    """Returns true if the result becomes the gradient as it is. (Torch's _reduce_grad and prepare_gradient_for_optim
    show what may follow.)"""
    parameter = handle.flat_param
    return (
        in_backward()
        and shard.dtype == parameter.dtype
        and not hasattr(parameter, "_saved_grad_shard")
        and not handle._offload_params
        and not handle._has_optim_in_backward
        and not handle._keep_low_precision_grads
    )


def process_groups(model):
    """Returns the groups of the model's units, each with its tensors' device."""
    return {state.process_group: state.compute_device for state in _get_fsdp_states(model)}


def _check_outermost(model):
    """Raises ValueError if `model` lies within another unit. Torch knows this once the outermost unit has run."""
    if model._is_root is False:
        raise ValueError("overlap: expected the outermost FullyShardedDataParallel, found one inside another")


def served(model):
    """Returns the units of FSDP1's outermost `model` that can take our hook. Raises ValueError if there is none."""
    _check_outermost(model)
    states = [state for state in _get_fsdp_states(model) if state._handle is not None]
    if any(state._comm_hook is not None for state in states):
        raise ValueError("overlap: expected a model without a communication hook, found a registered hook")
    found = [state for state in states if state.sharding_strategy.name in _SERVED]
    if not found:
        others = ", ".join(sorted({state.sharding_strategy.name for state in states}))
        raise ValueError(f"overlap: FSDP1 takes a communication hook only with {' or '.join(_SERVED)}, found {others}")
    return found


def overlap(model, states, reduce_scatters):
    """Does railweave.fsdp.overlap() for FSDP1's outermost `model`; `states`: as served() returns them."""

    def forward_begins(_model, _inputs):
        _check_outermost(model)
        unfinished.finish()  # left by a backward that raised

    unfinished = Unfinished(reduce_scatters)
    for state in states:
        state._comm_hook, state._comm_hook_state = _late_reduce_scatter(unfinished, state), None
    model.register_forward_pre_hook(forward_begins, prepend=True)
