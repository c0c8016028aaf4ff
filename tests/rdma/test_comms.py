"""64 comms with messages of random sizes for five minutes over RDMA, every byte compared. The VM's clock is the host's:
no time limit matters here, and by the steady clock five minutes would take a quarter of an hour."""
from __future__ import annotations

import json

import rdma_lab
from rdma_lab import RdmaTest, kBin, kSeed

_MINUTES = 5
_LIMIT_S = 900
_COMMS_EACH_WAY = 32
_SIZES = "0..1M"


class Comms(RdmaTest):
    def test_sixty_four_for_five_minutes(self) -> None:
        done = self.in_lab("env", "RAILWEAVE_WIRES=verbs", str(kBin / "net_perf"), "--verify", "--both", "--comms",
                           str(_COMMS_EACH_WAY), "--random-sizes", _SIZES, "--inflight", "4", "--seed", str(kSeed),
                           "--duration", str(60 * _MINUTES), "--warmup", "0", "--json", "/vmout/found.json",
                           steady=False, limit_s=_LIMIT_S)
        result = json.loads(done.text("found.json"))["results"][0]
        checked = result["verify"]
        self.assertEqual(0, checked["errors"], done.said)
        self.assertGreater(checked["bytes_checked"], 0, done.said)
        for rank in result["ranks"]:
            lanes = rank["engine"]["lanes"]
            self.assertEqual({("eth0", "verbs"), ("eth1", "verbs")}, {(lane["rail"], lane["wire"]) for lane in lanes},
                             done.said)
            self.assertTrue(all(lane["bytes_sent"] > 0 for lane in lanes), done.said)
        rdma_lab.note("comms", f"comms: {2 * _COMMS_EACH_WAY} of them for {_MINUTES} minutes, "
                      f"{checked['messages_checked']} messages of {_SIZES} bytes, "
                      f"{checked['bytes_checked'] / 1e9:.2f} GB, 0 wrong; seed {kSeed} ({done.circumstances})")


if __name__ == "__main__":
    rdma_lab.main()
