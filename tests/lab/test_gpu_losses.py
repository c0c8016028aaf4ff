"""The losses that tests/gpu/nccl makes, without a GPU: each one calls the lab with the right arguments."""
from __future__ import annotations

import inspect
import os
import sys
import typing
import unittest
from unittest import mock

import support
from bench.faults import losses, peer_losses
from lab import faults
from lab.plan import make_plan
from lab.spec import make_spec

sys.path.append(str(support.kPerf.parent / "tests/gpu/nccl"))
import losses_rank  # noqa: E402


def checked(function: typing.Callable) -> mock.Mock:
    """Returns a mock of a function of the lab. The mock raises TypeError for arguments of other types."""
    signature, types = inspect.signature(function), typing.get_type_hints(function)

    def call(*args: object, **named: object) -> None:
        for name, value in signature.bind(*args, **named).arguments.items():
            if isinstance(types[name], type) and not isinstance(value, types[name]):
                raise TypeError(f"{function.__name__}: {name} is {value!r}")

    return mock.Mock(side_effect=call)


class Losses(unittest.TestCase):
    def setUp(self) -> None:
        self.plan = make_plan(make_spec(2, "2"), "lab")

    def make(self, kind: str) -> dict[str, mock.Mock]:
        """Makes one loss. Returns the mocks of the lab's faults by name."""
        called = {name: checked(getattr(faults, name)) for name in faults.__all__ if name != "Rule"}
        with mock.patch.multiple(faults, **called), mock.patch.object(os, "kill"), \
                mock.patch.object(losses_rank.time, "sleep"), mock.patch.dict(os.environ, RWLAB="lab"), \
                mock.patch.object(losses_rank.state, "load", return_value=self.plan):
            loss = losses_rank.Loss(kind, 1)
            loss.thread.start()
            loss.thread.join()
        self.assertIsNone(loss.failed, kind)
        self.assertIsNotNone(loss.undone, kind)
        return called

    def test_each_loss_has_the_arguments_that_the_lab_takes(self) -> None:
        for kind in [*losses.kLosses, *peer_losses.kLosses]:
            with self.subTest(kind):
                self.make(kind)

    def test_a_rail_is_lost_at_one_host_and_restored_at_both(self) -> None:
        host = self.plan.hosts[0]
        called = self.make("down-sender")
        called["take_down"].assert_called_once_with(host, host.nics[losses_rank.RAIL])
        self.assertEqual(2, called["restore"].call_count)


if __name__ == "__main__":
    support.main(needs_root=False)
