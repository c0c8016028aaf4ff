"""A peer is killed while its rails are cut, and another process starts at the same addresses and ports: the old session
ends with an error, and a new session works without data of the old one."""
from __future__ import annotations

import unittest

import engine_lab
from engine_lab import EngineTest, kBin, net_perf

# Ranks meet over eth0, which stays up; the engines use eth1 and eth2. The first pair of ranks would send for hours. Its
# rank 1 is killed while the rails are cut, so that its kernel's reset is lost. The rails work again once the new rank 1
# listens. The second pair meets one port higher and sends other bytes (--seed).
_RANKS = f"""
export RAILWEAVE_RAILS=eth1,eth2 RAILWEAVE_PEER_TIMEOUT=60 RAILWEAVE_STALL_TIMEOUT=60
[ $RANK = 0 ] || export RAILWEAVE_PORTS=23000-23001
program={kBin / "net_perf"}
second() {{ export MASTER_PORT=$((MASTER_PORT + 1)); exec $program --patience 40 --seed 2 "$@"; }}
cables() {{ for nic in 1 2; do $RWLAB_PROGRAM set --host 1 --nic $nic $1; done; }}
listens() {{ until [ $(ss -Htlnp | grep -c ":23000 .*pid=$1,") -ge 2 ]; do sleep 0.02; done; echo "listens $1"; }}
$program --verify --warmup 0 --sleep-us 50 --bytes 64G --seed 1 & first=$!
echo "first $first"
if [ $RANK = 0 ]; then
  (second "$@") & new=$!
  wait $first; echo "old $?"
else
  until [ $(cat /sys/class/net/eth1/statistics/rx_bytes) -gt 3000000 ]; do sleep 0.02; done
  listens $first
  cables --cut
  kill -9 $first
  wait $first  # its ports are free again
  (second "$@") & new=$!
  listens $new
  cables --up
fi
wait $new
"""


class Restarted(EngineTest):
    def test_the_new_one_works_and_the_old_session_ends(self) -> None:
        outcome = net_perf(["--favour", "--nics", "3", "--rate", "200mbit"], "--bytes", "24M", "--both", deadline_s=100,
                           through=["sh", "-c", _RANKS, "sh"])
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertGreaterEqual(outcome.result["verify"]["bytes_checked"], 48 << 20, str(outcome))
        (dead,), (new,) = outcome.values(1, "listens")
        self.assertNotEqual(dead, new)
        self.assertEqual([["1"]], outcome.values(0, "old"), str(outcome))
        self.assertIn("ncclRemoteError", "".join(outcome.said(0)), str(outcome))
        lost = [warning for warning in outcome.warnings(0) if "connection to" in warning]
        self.assertEqual(1, len(lost), str(outcome))
        self.assertIn(f"connection to host1 pid {dead} lost: it says: this is another instance", lost[0], str(outcome))


if __name__ == "__main__":
    engine_lab.main()
