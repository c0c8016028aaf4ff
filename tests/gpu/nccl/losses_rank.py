"""One rank of tests/gpu/nccl/losses, on a host of tools/lab. Repeats all_reduces; rank 0 also causes the loss
meanwhile."""

import argparse
import datetime
import json
import os
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "perf")]

from bench.faults import losses, peer_losses  # noqa: E402
from lab import state  # noqa: E402
from two_hosts import environment  # noqa: E402

ELEMENTS = 1 << 20  # int32
# Seconds of all_reduces before the loss, and after the loss was undone: a rail may take 5 s to carry again.
BEFORE_S, AFTER_S = 2.0, 6.0
GIVE_UP_S = 20.0  # torch's own timeout, longer than any promise
RAIL = 1


class Loss:
    """Causes the loss on rank 0, in a thread of its own. Python releases its lock while torch waits."""

    def __init__(self, kind, peer_pid):
        self.kind, self.peer_pid = kind, peer_pid
        self.plan = state.load(os.environ["RWLAB"])
        self.at = self.undone = self.failed = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            self._happen()
        except Exception as error:  # after any error the ranks must still end
            self.failed = f"{type(error).__name__}: {error}"

    def _happen(self):
        time.sleep(BEFORE_S)
        self.at = time.monotonic()
        if self.kind in losses.kLosses:
            loss = losses.kLosses[self.kind]
            host = self.plan.hosts[loss.at or 0]
            loss.happen(self.plan, host, host.nics[RAIL])
            time.sleep(loss.outage_s)
            if loss.returns:
                losses.undo(self.plan, RAIL)
        else:
            peer_losses.happen(peer_losses.kLosses[self.kind], self.plan, [0, 1], self.peer_pid)
        self.undone = time.monotonic()

    def is_over(self):
        return self.failed is not None or self.undone is not None and time.monotonic() > self.undone + AFTER_S


def all_reduces(torch, dist, rank, over):
    """Repeats all_reduces until over() is true at rank 0, or until an error. Returns (when each ended, how many had
    wrong data, the error or None)."""
    positions = torch.arange(ELEMENTS, dtype=torch.int32, device="cuda") % 1000
    ended, wrong = [], 0
    try:
        while True:
            expected = positions + len(ended)  # results of earlier all_reduces are wrong
            data = torch.cat([expected + rank, torch.tensor([over()], dtype=torch.int32, device="cuda")])
            dist.all_reduce(data, async_op=True).wait()
            same = torch.equal(data[:-1], 2 * expected + 1)
            ended.append(time.monotonic())
            wrong += not same
            if data[-1].item():
                return ended, wrong, None
    except RuntimeError as error:  # torch.distributed.DistError is one
        return ended, wrong, error


def exchanged(folder, rank, what, number, patience_s):
    """Returns the other rank's number; None: it did not come in time. Uses files in a folder, because the hosts are one
    machine."""
    mine, theirs, give_up = folder / f"{what}.{rank}", folder / f"{what}.{1 - rank}", time.monotonic() + patience_s
    new = mine.with_name(mine.name + ".new")
    new.write_text(str(number))
    new.rename(mine)
    while not theirs.exists():
        if time.monotonic() > give_up:
            return None
        time.sleep(0.01)
    return int(theirs.read_text())


def pause_s(ended, at):
    """Returns the longest time between the ends of two all_reduces, if the later one ended after the loss."""
    return max((later - earlier for earlier, later in zip(ended, ended[1:]) if later > at), default=0.0)


def seen(loss, ended, error, over):
    """Returns rank 0's record for JSON."""
    text = " ".join(str(error).split()) if error else None
    if loss.failed or loss.at is None:
        return {"broken": f"the loss could not be made: {loss.failed}" if loss.failed
                else f"an error before the loss: {text}"}
    if text and "collective operation timeout" in text:
        text = f"torch's own timeout: {text}"
    return {"peer_pid": loss.peer_pid, "before": sum(end < loss.at for end in ended),
            "after": sum(end >= loss.at for end in ended),
            "pause_s": pause_s(ended, loss.at), "error": text, "error_s": over - loss.at if error else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", required=True, choices=["railweave", "socket"])
    parser.add_argument("--loss", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True)
    args = parser.parse_args()
    rank = int(os.environ["RANK"])
    # With TORCH_NCCL_BLOCKING_WAIT torch waits on the host, and polls NCCL for errors meanwhile.
    os.environ.update(environment(args.net, args.plugin, rank, args.folder, TORCH_NCCL_BLOCKING_WAIT="1"))
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl", init_method="file://" + os.environ["MEETING"], rank=rank, world_size=2,
                            timeout=datetime.timedelta(seconds=GIVE_UP_S))
    peer_pid = exchanged(args.folder, rank, "pid", os.getpid(), GIVE_UP_S)
    dist.all_reduce(torch.ones(1, device="cuda"))  # connects
    torch.cuda.synchronize()
    loss = Loss(args.loss, peer_pid)
    if rank == 0:
        loss.thread.start()
    ended, wrong, error = all_reduces(torch, dist, rank, lambda: rank == 0 and loss.is_over())
    over = time.monotonic()
    peers_wrong = exchanged(args.folder, rank, "wrong", wrong, 1.0 if error else GIVE_UP_S)
    if rank == 0:
        args.json.write_text(json.dumps({"wrong": [wrong, peers_wrong], **seen(loss, ended, error, over)}))
    os._exit(0)  # NCCL's own end may wait for the peer


if __name__ == "__main__":
    sys.exit(main())
