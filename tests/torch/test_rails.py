"""FSDP2 on two hosts in the lab, while a rail is lost, returns and is slow in mid-step. Every loss of both ranks is, to
the bit, the loss of the same training on undisturbed rails."""
from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

_PERF = Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))

import support  # noqa: E402

_MBIT = 200
_STEPS = 3  # steps of each phase
_IN_STEP_S = 0.1  # from the beginning of a step to the disturbance; a step takes 0.4 s on both rails
# The phases, and the disturbance in the first step of each (options of `tools/lab set`).
_PHASES = [("steady", ""), ("silent", "--host 1 --nic 1 --cut"), ("heard again", "--host 1 --nic 1 --up"),
           ("down", "--host 0 --nic 1 --down"), ("up again", "--host 0 --nic 1 --up"),
           ("slow", f"--nic 1 --rate {_MBIT // 20}mbit"), ("fast again", f"--nic 1 --rate {_MBIT}mbit")]


def _rank() -> None:
    """A rank of the job. Prints the bytes that each NIC sent in a phase's later steps, and both trainings' losses."""
    import os
    import threading

    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard

    import railweave.fsdp
    sys.path.insert(0, str(_PERF))
    from demo import gpt, text

    class Training:
        def __init__(self) -> None:
            self.shape, self.losses, self._data = gpt.Shape(layers=4, width=256, heads=4, length=64), [], text.load()
            torch.manual_seed(1)
            self._model: nn.Module = gpt.GPT(self.shape)
            for block in self._model.blocks:
                fully_shard(block)
            fully_shard(self._model)
            railweave.fsdp.overlap(self._model)
            self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=6e-4)

        def step(self) -> None:
            given, expected = text.batch(self._data, len(self.losses), dist.get_rank(), 1, self.shape.length)
            loss = nn.functional.cross_entropy(self._model(given).flatten(0, 1), expected.flatten())
            loss.backward()
            self._optimizer.step()
            self._optimizer.zero_grad()
            self.losses.append(loss.item())

    def sent(nic: int) -> int:
        return int(Path(f"/sys/class/net/eth{nic}/statistics/tx_bytes").read_text())

    def disturb(how: str) -> None:
        subprocess.run([os.environ["RWLAB_PROGRAM"], "set", *how.split()], check=True)

    torch.set_num_threads(1)
    dist.init_process_group("railweave")
    disturbed = Training()
    for name, how in _PHASES:
        dist.barrier()
        happens = threading.Timer(_IN_STEP_S, disturb, [how])
        if how and dist.get_rank() == 0:
            happens.start()
        disturbed.step()
        if how and dist.get_rank() == 0:
            happens.join()
        dist.barrier()
        before = sent(0), sent(1)
        for _ in range(_STEPS - 1):
            disturbed.step()
        print("sent", name.replace(" ", "-"), sent(0) - before[0], sent(1) - before[1], flush=True)
    undisturbed = Training()
    for _ in disturbed.losses:
        undisturbed.step()
    for name, training in (("disturbed", disturbed), ("undisturbed", undisturbed)):
        print(name, *(loss.hex() for loss in training.losses), flush=True)
    dist.barrier()
    dist.destroy_process_group()


class RailsTest(unittest.TestCase):
    def test_losses_are_those_of_rails_that_nobody_touches(self) -> None:
        done = subprocess.run([sys.executable, str(_PERF.parent / "tools" / "lab"), "run", "--favour",
                               "--nics", "2", "--rate", f"{_MBIT}mbit", "--", sys.executable, "-B", __file__, "--rank"],
                              capture_output=True, text=True, timeout=280, check=False)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        for host in (0, 1):
            said = [line.split("] ", 1)[1].split()
                    for line in done.stdout.splitlines() if line.startswith(f"[host{host}] ")]
            losses = {words[0]: words[1:] for words in said if words[0] in ("disturbed", "undisturbed")}
            self.assertEqual(len(_PHASES) * _STEPS, len(losses["disturbed"]), done.stdout)
            self.assertEqual(losses["undisturbed"], losses["disturbed"], done.stdout)
            self.assertEqual(len(losses["disturbed"]), len(set(losses["disturbed"])), "it does not learn")
            first, second = ({words[1]: int(words[2 + nic]) for words in said if words[0] == "sent"} for nic in (0, 1))
            for lost in ("silent", "down"):  # the rail was lost indeed
                self.assertLess(second[lost], 0.1 * first[lost], done.stdout)
            self.assertLess(second["slow"], 0.5 * first["slow"], done.stdout)


if __name__ == "__main__":
    _rank() if "--rank" in sys.argv else support.main()
