"""A rank of test_rdma.py: runs the bodies of the operation tests, then FSDP2 over Railweave and over Gloo. Writes to
FOLDER/rank<N>.json what the parts found, and what the engine counted.

    rdma_rank.py FOLDER [PART ...]      the parts of kParts; without names: all
"""
from __future__ import annotations

import glob
import hashlib
import json
import os
import socket
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

import ranks
import test_operations
import training

_STEPS = 2  # of FSDP2
_BODIES = ("_reductions", "_scattered_sums", "_moved", "_exchanged", "_strided", "_coalesced", "_later", "_sparse",
           "_aliased", "_messages", "_in_inference_mode", "_unlike", "_large")
_BATCHES, _WORKERS = 12, 2
_Answer = dict[str, Any]


def _lanes() -> list[_Answer]:
    """Returns the lanes of this process's engine, closed ones too, as its statistics socket gives them."""
    path, = glob.glob(f"/tmp/railweave-{os.getpid()}-*.sock")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(path)
        _, (file,), _, _ = socket.recv_fds(client, 1, 1)
    with os.fdopen(file) as document:
        document.seek(0)
        return [lane for session in json.load(document)["sessions"] for lane in session["lanes"]]


def _operations(rank: int, size: int) -> list[str]:
    """Returns the names of the bodies that ran. A body raises if a result is wrong."""
    for name in _BODIES:
        began = time.monotonic()
        getattr(test_operations, name)(rank, size)
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
    return list(_BODIES)


def _fsdp2(rank: int, size: int) -> _Answer:
    """Returns the losses of the steps, and a digest of each parameter after the steps."""
    model = training.fsdp2_model(size, {})
    losses = training.train(model, training.sgd(model), rank, size, steps=_STEPS)
    digests = {name: hashlib.sha256(value.full_tensor().numpy().tobytes()).hexdigest()
               for name, value in model.state_dict().items()}
    return {"losses": losses, "parameters": digests}


def _workers(rank: int, size: int) -> list[float]:
    """Returns sums over both ranks of batches from a DataLoader. Its forked workers live while the lanes carry."""
    sums = []
    for batch in DataLoader([torch.full((50_000,), float(i)) for i in range(_BATCHES)], num_workers=_WORKERS):
        tensor = batch[0] + rank
        dist.all_reduce(tensor)
        sums.append(tensor[-1].item())
    return sums


# By name: what runs in a group of its own, and over which backend.
kParts: dict[str, tuple[Callable[[int, int], Any], str]] = {
    "refused": (test_operations._refused, "railweave"), "operations": (_operations, "railweave"),
    "workers": (_workers, "railweave"), "fsdp2": (_fsdp2, "railweave"), "fsdp2 of gloo": (_fsdp2, "gloo")}


def _run(name: str, rank: int, size: int) -> _Answer:
    body, backend = kParts[name]

    def counted(*args: Any) -> _Answer:
        found = body(*args)
        lanes = _lanes() if backend == "railweave" else []
        dist.barrier()  # a rank that left would end the session, whose lanes the other rank counts
        return {"found": found, "lanes": lanes, "error": ""}

    began = time.monotonic()
    try:
        answer = ranks.in_group(counted, backend)(rank, size, f"/tmp/store-{name.replace(' ', '-')}")
    except Exception:  # noqa: BLE001  the test reports it
        answer = {"found": None, "lanes": [], "error": traceback.format_exc()}
    print(f"{name}: {time.monotonic() - began:.1f} s {answer['error']}", flush=True)
    return answer


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    answers: dict[str, _Answer] = {}
    for name in names or kParts:
        answers[name] = _run(name, rank, size)
        if answers[name]["error"]:
            break  # the other rank may still be in the group
    (folder / f"rank{rank}.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
