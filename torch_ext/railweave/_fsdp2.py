"""Runs FSDP2's collectives beside its compute: own comm objects for each layer, the order of layers, and the state
between steps. docs/guide/fsdp.md says when each collective is waited for, and why no result changes. Threads: the one
that calls the model, and autograd's."""

import torch
import torch.distributed as dist
from torch.optim.optimizer import register_optimizer_step_post_hook

from railweave._backward import in_backward
from railweave._buffers import Buffers
from railweave._collectives import all_gather, reduce_scatter
from railweave._hints import hints
from railweave._layer_order import LayerOrder
from railweave._unfinished import Unfinished

try:
    from torch.distributed.fsdp._fully_shard._fsdp_api import AllGather, ReduceScatter
except ImportError as missing:
    raise ImportError(f"railweave.fsdp needs torch's interface for custom FSDP2 collectives (torch >= 2.10): {missing}")


_optimizer_steps = 0  # steps of all optimizers


def _optimizer_stepped(_optimizer, _args, _kwargs):
    global _optimizer_steps
    _optimizer_steps += 1


register_optimizer_step_post_hook(_optimizer_stepped)  # fused optimizers change parameters but not their versions


class _UrgentAllGather(AllGather):
    """The all-gather of one layer, waited for where FSDP copies the parameters out. May keep what a forward gathered
    for the backward."""

    def __init__(self, buffers, param_group, backward_end):
        self._buffers, self._param_group, self._backward_end = buffers, param_group, backward_end
        self._keeps = False
        self._kept = self._versions = None  # this forward's result, and the shards' versions at that time

    def forward_begins(self, keeps):
        """Drops what an earlier step gathered."""
        self._keeps, self._kept = keeps, None

    def allocate(self, size, *, dtype, device):
        kept = self._kept if in_backward() and self._versions == self._versions_now() else None
        if kept is not None and (kept.shape, kept.dtype, kept.device) == (torch.Size(size), dtype, device):
            return kept
        return self._buffers.take(size, dtype, device)

    def __call__(self, output_tensor, input_tensor, group, async_op=False):
        if in_backward():
            self._backward_end.note()
            kept, self._kept = self._kept, None
            if kept is output_tensor:
                return None  # everything is there
        elif self._keeps:
            self._kept, self._versions = output_tensor, self._versions_now()
        with hints("urgent"):
            return all_gather(output_tensor, input_tensor, group=group, async_op=True)

    def _versions_now(self):
        shards = [p.sharded_param for p in self._param_group.fsdp_params]
        return [_optimizer_steps, *((shard._version, shard._local_tensor._version) for shard in shards)]


class _LateReduceScatter(ReduceScatter):
    """The reduce-scatter of one parameter group. It is waited for at the end of backward, or at once if something
    computes on its result."""

    def __init__(self, param_group, unfinished, buffers):
        self._param_group = param_group
        self._unfinished = unfinished
        self._buffers = buffers

    def allocate(self, size, *, dtype, device):
        self._unfinished.make_room()
        return self._buffers.take(size, dtype, device)

    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        work = reduce_scatter(output_tensor, input_tensor, op=op, group=group, async_op=True)
        if async_op:
            return work
        if self._is_final(output_tensor, op):
            self._unfinished.add(work)
        else:
            self._unfinished.finish()  # the result may be added to that of an earlier one
            work.wait()
        return None

    def _is_final(self, output, op):
        """Returns true if the result becomes the gradient as it is. (Torch's foreach_reduce shows what else may
        follow.)"""
        group = self._param_group
        parameters = [p.sharded_param for p in group.fsdp_params]
        return (
            in_backward()
            and op != dist.ReduceOp.SUM  # torch divides a sum afterwards
            and output.dtype == group._orig_dtype
            and not group._is_hsdp
            and group._all_reduce_hook is None
            and not any(p.offload_to_cpu for p in group.fsdp_params)
            and all(p.grad is None for p in parameters)
            and not any(getattr(p, "_post_accumulate_grad_hooks", None) for p in parameters)
        )


def _param_groups(module):
    state = module._get_fsdp_state()
    if hasattr(state, "_fsdp_param_groups"):
        return list(state._fsdp_param_groups)
    return [state._fsdp_param_group] if state._fsdp_param_group else []  # torch <= 2.11


class _KeptForBackward:
    """The layers with which backward begins. Their parameters as gathered by forward are kept, because nothing else is
    fetched ahead at that point."""

    def __init__(self, gathers):
        self._gathers, self._keeping = gathers, []

    def choose(self, layers):
        self._keeping = [(self._gathers[layer], *_param_groups(layer)) for layer in layers if layer in self._gathers]

    def forward_begins(self):
        """Starts a forward. Results are kept only if a backward follows that gathers the same again."""
        for gather, group in self._keeping:
            gather.forward_begins(keeps=torch.is_grad_enabled() and group.post_forward_mesh_info is group.mesh_info)


class _ForwardEdges:
    """The beginning and the end of the model's forward. Results left by an earlier forward or its backward must not be
    used."""

    def __init__(self, model, layers, unfinished, kept, buffers):
        self._layers, self._unfinished, self._kept, self._buffers = layers, unfinished, kept, buffers
        self._inside = False  # the module's forward is running
        self._open = False  # a forward began whose end was not seen: it raised, or is a method's
        unfinished.backward_end.add(self._drop_what_nobody_used)  # results of layers that were recomputed
        model.register_forward_pre_hook(lambda _model, _inputs: self._module_begins(), prepend=True)
        model.register_forward_hook(lambda _model, _inputs, _output: self._ends())
        model.register_forward_hook(lambda _model, _inputs, _output: self._module_left(), always_call=True)
        # Methods of register_fsdp_forward_method run FSDP's hooks and no others.
        root = model._get_fsdp_state()
        root._pre_forward = self._before(root._pre_forward, lambda: True)
        for state in (layer._get_fsdp_state() for layer in layers if layer is not model):
            outermost = lambda state=state: state._state_ctx.iter_forward_root is None  # noqa: E731
            state._root_pre_forward = self._before(state._root_pre_forward, outermost)

    def _before(self, function, outermost):
        def begun(*args):
            if not self._inside and outermost():
                self._begins()
            return function(*args)

        return begun

    def _module_begins(self):
        self._begins()
        self._inside = True

    def _module_left(self):
        self._inside = False

    def _begins(self):
        if in_backward():
            return  # a part is recomputed: nothing of an earlier step can be left
        self._unfinished.finish()
        # Otherwise a result that is there was requested: module.unshard(async_op=True).
        if self._open or self._unfinished.backward_end.open:
            self._drop_what_nobody_used()
            self._unfinished.backward_end.forget()
        self._open = True
        self._kept.forward_begins()
        self._buffers.forward_begins()

    def _ends(self):
        if not in_backward():
            self._drop_what_nobody_used()
            self._open = False

    def _drop_what_nobody_used(self):
        """Drops the results of layers that were fetched ahead and did not run: they must not run later with these
        parameters."""
        for group in (group for layer in self._layers for group in _param_groups(layer)):
            if group._all_gather_result is not None:
                if (work := group._all_gather_result.all_gather_work) is not None:
                    work.wait()
                group._all_gather_result = None


def process_groups(layers):
    """Returns the process groups that carry these layers' parameters or gradients, in the order of layers, each with
    its tensors' device."""
    groups = {}
    for group in (group for layer in layers for group in _param_groups(layer)):
        for mesh in (group.mesh_info, group.post_forward_mesh_info):
            for name in ("shard_process_group", "replicate_process_group"):
                if (process_group := getattr(mesh, name, None)) is not None:
                    groups[process_group] = group.device
    return groups


def overlap(model, layers, prefetch, reduce_scatters):
    """Does railweave.fsdp.overlap() for the root `model`. `layers`: all its modules with ``fully_shard``, the root
    included."""
    unfinished, buffers, gathers = Unfinished(reduce_scatters), Buffers(), {}
    for layer in layers:
        groups = _param_groups(layer)
        if len(groups) == 1:  # several may have different meshes; torch takes no objects of ours for them
            gathers[layer] = _UrgentAllGather(buffers, groups[0], unfinished.backward_end)
            layer.set_custom_all_gather(gathers[layer])
            layer.set_custom_reduce_scatter(_LateReduceScatter(groups[0], unfinished, buffers))
    kept = _KeptForBackward(gathers)
    if prefetch > 0:
        LayerOrder(model, layers, prefetch, kept.choose)
    _ForwardEdges(model, layers, unfinished, kept, buffers)
