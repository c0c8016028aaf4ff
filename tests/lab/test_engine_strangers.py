"""A third host that is no peer connects to two hosts in mid-transfer.

The host scans every port and sends what other protocols do, opens connections and sends nothing, or leaves connections
half-open. The transfer continues, and descriptors and memory stay within bounds."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path

import engine_lab
from engine_lab import EngineTest, kBin, Outcome, net_perf

_STRANGER = Path(__file__).resolve().with_name("stranger.py")
_MOST_DESCRIPTORS = 1024 + 100  # unfinished handshakes (docs/internals/protocol.md), and the program's own descriptors
_MOST_GROWTH_KIB = 64 << 10

# Ranks 0 and 1 transfer while the script samples their descriptors and memory. Rank 2 is the stranger.
_RANKS = f"""
if [ $RANK = 2 ]; then exec {sys.executable} -B {_STRANGER} "$STRANGER"; fi
export WORLD_SIZE=2 RAILWEAVE_PORTS=23000-23001
ulimit -Sn 4096
{kBin / "net_perf"} "$@" & pid=$!
most=0; first=0; last=0
while kill -0 $pid 2>/dev/null; do
  held=$(ls /proc/$pid/fd 2>/dev/null | wc -l)
  [ $held -le $most ] || most=$held
  kib=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$pid/status 2>/dev/null)
  [ $first != 0 ] || [ ! -e /tmp/$RWLAB-stranger ] || first=${{kib:-0}}
  last=${{kib:-$last}}
  sleep 0.1
done
wait $pid; status=$?
echo "held $most"; echo "grew $first $last"
exit $status
"""


class Strangers(EngineTest):
    def strangers(self, what: str, beside: str = "") -> Outcome:
        outcome = net_perf(["--favour", "--hosts", "3", "--nics", "2", "--rate", "200mbit"],
                           "--both", "--duration", "14", deadline_s=110,
                           through=["sh", "-c", _RANKS, "sh"], setup=f"export STRANGER={what}", beside=beside)
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertGreater(outcome.result["verify"]["bytes_checked"], 0, str(outcome))
        for host in (0, 1):
            (most,), = outcome.values(host, "held")
            (first, last), = outcome.values(host, "grew")
            self.assertLess(int(most), _MOST_DESCRIPTORS, str(outcome))
            self.assertLess(int(last) - int(first), _MOST_GROWTH_KIB, str(outcome))
        return outcome

    def with_a_reset(self, what: str) -> Outcome:
        """Resets a rail meanwhile. Its lane must come back through the listener that the stranger uses."""
        outcome = self.strangers(what, beside="""
            [ $RANK != 1 ] || (until [ -e /tmp/$RWLAB-stranger ]; do sleep 0.1; done; sleep 2
                               $RWLAB_PROGRAM set --host 1 --nic 1 --reset
                               echo reset $(cat /sys/class/net/eth1/statistics/rx_bytes)) &""")
        (before,), = outcome.values(1, "reset")
        self.assertGreater(outcome.carried(1)["eth1"][1] - int(before), 5_000_000, str(outcome))
        return outcome

    def test_a_port_scanner(self) -> None:
        outcome = self.strangers("scan")
        found, = outcome.values(2, "found")
        ranks = [place for place in found if place.endswith(":23000")]
        self.assertEqual(4, len(ranks), str(outcome))  # two rails of two hosts
        (out, of), = outcome.values(2, "closed")
        self.assertEqual((out, of), (of, str(5 * len(found))), str(outcome))

    def test_who_opens_and_says_nothing(self) -> None:
        """Opens more connections at once than may be in a handshake."""
        (opened,), = self.with_a_reset("silent").values(2, "opened")
        self.assertGreater(int(opened), 2000)

    def test_half_open_connections(self) -> None:
        (sent,), = self.with_a_reset("half-open").values(2, "sent")
        self.assertGreater(int(sent), 2000)


if __name__ == "__main__":
    engine_lab.main()
