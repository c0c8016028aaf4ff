"""Functions of torch that ask for a backend's name or class: what they do with railweave, and what works instead. The
page docs/guide/torch_backend.md lists those that refuse."""
from __future__ import annotations

import ast
import re
import time
import unittest
import warnings
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed._shard.sharded_tensor as sharded
import torch.distributed.nn.functional as differentiable
from torch.distributed._shard.metadata import ShardMetadata

import ranks

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "torch_backend.md"
_TORCH = Path(torch.__file__).parent
_TORCH_READ = "2.13"  # the version whose functions _ASKING lists
_CLASSES = {"GLOO", "NCCL", "ProcessGroupGloo", "ProcessGroupNCCL"}
_NAMES = {"gloo", "nccl"}
# By file of torch: the functions that compare a backend with a name or a class. True: the page lists it.
_ASKING = {
    "distributed/_shard/sharded_tensor/_ops/tensor_ops.py": {"tensor_device": True},
    "distributed/_shard/sharded_tensor/api.py": {
        "ShardedTensor._get_preferred_device": False,  # the CPU for others than NCCL
        "ShardedTensor.to": True,
    },
    "distributed/_symmetric_memory/__init__.py": {  # symmetric memory is the device's
        "put_signal": False, "reduce_scatter_offset": False, "wait_signal": False,
    },
    "distributed/algorithms/ddp_comm_hooks/ddp_zero_hook.py": {  # refuses Gloo, not railweave
        "hook_with_zero_step": False, "hook_with_zero_step_interleaved": False,
    },
    "distributed/c10d_logger.py": {"_get_msg_dict": False},  # logs NCCL's version
    "distributed/device_mesh.py": {"DeviceMesh._init_one_process_group": False},  # Gloo beside CUDA
    "distributed/distributed_c10d.py": {
        "_abort_process_group": False,  # joins NCCL's aborts
        "_add_ephemeral_timeout_for_all_pgs": True,
        "_get_default_timeout": False,  # 30 minutes for others than NCCL
        "_get_object_coll_device": False,  # for a Backend in place of a group
        "_get_process_group_uid": False,  # NCCL's
        "_new_process_group_helper": False,  # makes groups
        "_object_to_tensor": False,  # logs NCCL's hash
        "_set_pg_timeout": True,
        "_tensor_to_object": False,  # logs NCCL's hash
        "monitored_barrier": True,
    },
    "distributed/nn/functional.py": {
        "_AllGather.backward": False,  # all_to_all and a sum in place of reduce_scatter
        "_AllGatherBase.backward": True,
        "_AlltoAll.forward": False,  # scatters, for Gloo
    },
}


def _asks(node: ast.AST) -> bool:
    if isinstance(node, ast.Compare):
        compared = [*node.comparators, node.left]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        compared = node.args[1:]
    else:
        return False
    inner = [one for part in compared for one in (part.elts if isinstance(part, ast.Tuple) else [part])]
    return any(getattr(one, "attr", getattr(one, "id", None)) in _CLASSES
               or str(getattr(one, "value", "")).lower() in _NAMES for one in inner)


def _asking(node: ast.AST, path: str = "") -> Iterator[str]:
    """Yields the name of each function within `node` that asks."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.ClassDef)
        inner = f"{path}.{child.name}".lstrip(".") if named else path
        if _asks(child):
            yield inner
        yield from _asking(child, inner)


def _barriers(rank: int, size: int) -> list[str]:
    said = []
    for barrier in (dist.monitored_barrier, dist.group.WORLD.monitored_barrier):
        try:
            barrier(timeout=timedelta(seconds=20))
            said.append("passed")
        except ValueError as error:
            said.append(str(error))
    if rank == 0:
        try:
            dist.group.WORLD.monitored_barrier(timedelta(milliseconds=200))
        except RuntimeError as error:
            said.append(str(error))
    return said


def _timeouts(rank: int, size: int) -> tuple[list[str], float, str, float]:
    group = dist.new_group(list(range(size)), timeout=timedelta(seconds=50))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=7), group)
    unchanged = group._get_backend(torch.device("cpu")).options._timeout.total_seconds()
    group.set_timeout(timedelta(seconds=1))
    began = time.monotonic()
    said = ""
    if rank == 0:
        try:
            dist.all_reduce(torch.ones(1), group=group)
        except dist.DistBackendError as error:
            said = str(error)
    dist.barrier()
    return [str(one.message) for one in warned], unchanged, said, time.monotonic() - began


def _gradients(rank: int, size: int) -> tuple[str, list[float]]:
    leaf = torch.full((2,), float(rank), requires_grad=True)
    output = differentiable._AllGatherBase.apply(torch.empty(2 * size), leaf, dist.group.WORLD)
    try:
        output.sum().backward()
        said = ""
    except RuntimeError as error:
        said = str(error)
    funcol.all_gather_tensor_autograd(leaf, 0, dist.group.WORLD).sum().backward()
    return said, leaf.grad.tolist()


def _sharded(rank: int, size: int) -> list[str]:
    """Rank 1 has no shard of the tensor."""
    whole = ShardMetadata([0, 0], [1, 2], "rank:0/cpu")
    shards = [sharded.Shard(torch.ones(1, 2), whole)] if rank == 0 else []
    one_row = sharded.init_from_local_shards(shards, 1, 2)
    said = []
    for ask in (lambda: one_row.device, lambda: one_row.to("cpu")):
        try:
            ask()
            said.append("")
        except Exception as error:  # noqa: BLE001  torch asks for a CUDA device; the type depends on its build
            said.append(type(error).__name__)
    return said


class NamesTest(unittest.TestCase):
    @unittest.skipUnless(torch.__version__.startswith(_TORCH_READ + "."), f"the list is of torch {_TORCH_READ}")
    def test_every_function_that_asks_for_a_name_is_known(self) -> None:
        found = {}
        for folder in ("distributed", "nn/parallel", "utils/data"):
            for path in sorted((_TORCH / folder).rglob("*.py")):
                if asking := set(_asking(ast.parse(path.read_text(encoding="utf-8")))):
                    found[str(path.relative_to(_TORCH))] = asking
        self.assertEqual({file: set(functions) for file, functions in _ASKING.items()}, found)

    def test_every_refusal_is_on_the_page(self) -> None:
        table = "\n".join(re.findall(r"^\| `.*", _PAGE.read_text(encoding="utf-8"), re.MULTILINE))
        for functions in _ASKING.values():
            for function in (name for name, refuses in functions.items() if refuses):
                with self.subTest(function):
                    self.assertIn(f"`{function}", table.replace("ShardedTensor.device`", "tensor_device`"))

    def test_monitored_barrier__the_group_has_it(self) -> None:
        of_rank_0, of_rank_1 = ranks.run(_barriers, 2)
        for said in (of_rank_0, of_rank_1):
            self.assertIn("only implemented for GLOO", said[0])
            self.assertEqual("passed", said[1])
        self.assertIn("Rank 1 failed to pass monitoredBarrier in 200 ms", of_rank_0[2])

    def test_set_pg_timeout__the_group_has_it(self) -> None:
        (warned, unchanged, said, seconds), _ = ranks.run(_timeouts, 2)
        self.assertRegex(" ".join(warned), "only supported for either nccl or gloo")
        self.assertEqual(50, unchanged)
        self.assertIn("Timed out after 1000 ms", said)
        self.assertLess(seconds, 30)

    def test_gradients_of_a_gather__functional_collectives_have_them(self) -> None:
        for said, gradient in ranks.run(_gradients, 2):
            self.assertEqual("Backend not supported!", said)
            self.assertEqual([2.0, 2.0], gradient)

    def test_a_sharded_tensor_without_a_shard_asks_for_cuda(self) -> None:
        of_rank_0, of_rank_1 = ranks.run(_sharded, 2)
        self.assertEqual(["", ""], of_rank_0)
        self.assertNotIn("", of_rank_1)


if __name__ == "__main__":
    unittest.main()
