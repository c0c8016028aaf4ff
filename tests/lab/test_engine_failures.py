"""Rails and peers that are lost in mid-transfer: the ranks learn of the loss soon, once, and by name."""
from __future__ import annotations

import re
import time
import unittest

import engine_lab
from engine_lab import EngineTest, in_lab, kBin, net_perf, Outcome

_TWO = ["--nics", "2", "--rate", "200mbit"]
# Much longer than the plugin's bound of about a second, because the machine may be busy.
_SOON_S = 20


class LostRail(EngineTest):
    """One of two rails is lost in mid-transfer. Either the other rail carries the rest, with everything that the lost
    rail had under way, or every request of both ranks ends with an error. Never a hang, never a wrong byte."""

    def check(self, outcome: Outcome, rail: str) -> None:
        self.assertLess(outcome.status, 124, f"it hangs: {outcome}")
        warned = [outcome.warnings(host) for host in (0, 1)]
        self.assertLessEqual(max(map(len, warned)), 1, str(outcome))
        self.assertTrue(any(rail in warning for warning in sum(warned, [])), str(outcome))
        if outcome.status == 0:
            self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
            print(f"the other rail did the rest, all in {outcome.result['seconds']:.1f} s", end=" ... ", flush=True)
            return
        print("the session ended with an error", end=" ... ", flush=True)
        for host in (0, 1):
            self.assertIn("ncclRemoteError", "".join(outcome.said(host)), str(outcome))

    def lose(self, how: str, nic: int, host: int = 1) -> Outcome:
        """Applies the fault `how` after the NIC received 3 MB, when both lanes carry."""
        moved = f"[ $RANK = 0 ] || (moved eth{nic} 3000000; $RWLAB_PROGRAM set --host {host} --nic {nic} {how}) &"
        return net_perf(_TWO, "--bytes", "100M", beside=moved, deadline_s=40)

    def test_taken_down_at_the_receiver(self) -> None:
        self.check(self.lose("--down", 1), "eth1")

    def test_taken_down_at_the_sender(self) -> None:
        self.check(self.lose("--down", 1, host=0), "eth1")

    def test_silent_with_its_carrier_up(self) -> None:
        # The cut silences the sender's own NIC first, so data and then acknowledgements are lost.
        self.check(self.lose("--cut", 1, host=0), "eth1")

    def test_the_only_rail(self) -> None:
        """No rail is left: both ranks end with an error that names the rail and the peer."""
        outcome = net_perf(_TWO, "--bytes", "64G", "--both", deadline_s=_SOON_S,
                           setup="export RAILWEAVE_RAILS=eth1 RAILWEAVE_PEER_TIMEOUT=4",
                           beside="[ $RANK = 0 ] || (moved eth1 3000000; $RWLAB_PROGRAM set --host 1 --nic 1 --cut) &")
        self.assertEqual(1, outcome.status, str(outcome))
        for host in (0, 1):
            self.assertIn("ncclRemoteError", "".join(outcome.said(host)), str(outcome))
            silent, lost = self.warnings_of(host, outcome, 2)
            self.assertRegex(silent, f"no answer from host{1 - host} pid \\d+ on eth1", str(outcome))
            self.assertRegex(lost, f"connection to host{1 - host} pid \\d+ lost: no answer on eth1 for 4 s",
                             str(outcome))

    def survived(self, faults: str, *lab: str) -> Outcome:
        """Sends 150 MB over eth1 and eth2, and applies these faults after 3 MB. net_perf's ranks meet over eth0."""
        outcome = net_perf(["--nics", "3", "--rate", "200mbit", *lab], "--bytes", "150M", deadline_s=60,
                           setup="export RAILWEAVE_RAILS=eth1,eth2",
                           beside=f"[ $RANK = 0 ] || (moved eth1 3000000; {faults}) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        return outcome

    def test_two_different_ones(self) -> None:
        """No lane works any more, but the remaining rails reach each other."""
        self.survived("$RWLAB_PROGRAM set --host 0 --nic 1 --cut; $RWLAB_PROGRAM set --host 1 --nic 2 --cut",
                      "--subnets", "shared")

    def test_most_here_and_the_others_there(self) -> None:
        """None of the pairs that carried works. The engine finds working ones among 144 pairs before the peer counts
        as lost."""
        dead = [f"$RWLAB_PROGRAM set --host {host} --nic {nic} --cut &"
                for host, nics in ((0, range(1, 9)), (1, range(9, 13))) for nic in nics]
        outcome = net_perf(["--nics", "13", "--rate", "40mbit", "--subnets", "shared"], "--bytes", "300M",
                           deadline_s=90, setup="export RAILWEAVE_PEER_TIMEOUT=5 "
                           f"RAILWEAVE_RAILS={','.join(f'eth{nic}' for nic in range(1, 13))}",
                           beside=f"[ $RANK = 0 ] || (moved eth1 2000000; {' '.join(dead)} wait) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertTrue(outcome.warnings(0) + outcome.warnings(1), f"nothing was lost: {outcome}")

    def renumbered(self, host: int) -> None:
        """One rail has another address for a while. The other rail is silent meanwhile, so no update about the address
        reaches the peer. The old address is back before the other rail."""
        outcome = net_perf(["--nics", "3", "--rate", "200mbit"], "--bytes", "150M", "--both", deadline_s=60,
                           setup="export RAILWEAVE_RAILS=eth1,eth2", beside=f"""
            [ $RANK != {host} ] || (moved eth1 3000000; ip link set eth1 down; sleep 0.5
                                    $RWLAB_PROGRAM set --host {host} --nic 2 --cut
                                    ip addr flush dev eth1; ip addr add 10.79.1.1/24 dev eth1
                                    ip link set eth1 up; sleep 1.5
                                    ip addr flush dev eth1; ip addr add 10.77.1.{host + 1}/24 dev eth1; sleep 3
                                    $RWLAB_PROGRAM set --host {host} --nic 2 --up) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertGreater(outcome.result["seconds"], 4, f"nothing was lost: {outcome}")

    def test_one_has_another_address_for_a_while_at_the_acceptor(self) -> None:
        self.renumbered(1)

    def test_one_has_another_address_for_a_while_at_the_dialler(self) -> None:
        self.renumbered(0)

    def test_the_address_of_one_moves_to_the_other(self) -> None:
        """A host moves the address of a dead card to another card. A dial of this address reaches the same process by
        another rail."""
        outcome = net_perf(["--nics", "3", "--rate", "200mbit", "--subnets", "shared"], "--bytes", "300M",
                           deadline_s=60, setup="export RAILWEAVE_RAILS=eth1,eth2 RAILWEAVE_PEER_TIMEOUT=5", beside="""
            [ $RANK = 0 ] || (moved eth1 3000000; its=$(ip -o -4 addr show dev eth2 | awk '{print $4}')
                              ip -4 addr flush dev eth1
                              ip link set eth2 down; ip -4 addr flush dev eth2; ip addr add $its dev eth1
                              ip -n $RWLAB-host0 neigh flush all) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertTrue(outcome.warnings(1), f"nothing was lost: {outcome}")

    def test_the_last_rail_is_reset_while_the_other_is_down(self) -> None:
        """Host 1 gives up no lane itself: the peer does, and reports so. Host 1 waits for another lane all the same."""
        outcome = self.survived("$RWLAB_PROGRAM set --host 0 --nic 1 --down; sleep 0.5; "
                                "$RWLAB_PROGRAM set --host 1 --nic 2 --reset", "--shape", "switch")
        self.assertTrue(any("gave it up" in said for said in outcome.warnings(1)), str(outcome))

    def test_a_firewall_refuses_on_one_as_the_other_is_reset(self) -> None:
        """The lanes of both rails are lost together, so a refusal on one rail may mean that the peer's process is gone.
        The engine asks on the other rail, too."""
        refuse = ("nft 'add table inet f; add chain inet f c { type filter hook input priority 0; }; "
                  "add rule inet f c iifname eth2 meta l4proto tcp reject with tcp reset'")
        outcome = net_perf(["--nics", "3", "--rate", "200mbit", "--shape", "switch"], "--duration", "4", "--both",
                           deadline_s=30, setup="export RAILWEAVE_RAILS=eth1,eth2 RAILWEAVE_LANES_PER_RAIL=1",
                           beside=f"""
            [ $RANK = 1 ] || (moved eth1 3000000; {refuse}; echo refused $?; sleep 0.05
                              ss -K -Htn state established '( src 10.77.1.1 )') &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertEqual([["0"]], outcome.values(0, "refused"), str(outcome))
        self.assertRegex(str(outcome), r"10\.77\.1\.1%eth1:\d+ +10\.77", f"as ss lists what it ends: {outcome}")

    def all_reset(self, times: int, every_s: float, *net_perf_args: str, rate: str = "200mbit") -> None:
        """Resets all lanes again and again for longer than the peer timeout, as a firewall that forgets its connections
        does. The engine asks whether the peer died, and the peer is alive."""
        outcome = net_perf(["--nics", "3", "--rate", rate], *net_perf_args, deadline_s=60,
                           setup="export RAILWEAVE_RAILS=eth1,eth2 RAILWEAVE_PEER_TIMEOUT=2", beside=f"""
            [ $RANK = 0 ] || (until [ $(ss -Htn state established '( src 10.77.1.2 or src 10.77.2.2 )' | wc -l) -ge 2 ]
                              do sleep 0.05; done
                              for i in $(seq {times}); do
                                  sleep {every_s}; ss -K -Htn state established '( src 10.77.1.2 or src 10.77.2.2 )'
                              done) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        killed = len(re.findall(r"10\.77\.[12]\.2%eth[12]:\d+ +10\.77", str(outcome)))
        self.assertGreaterEqual(killed, 2 * (times - 1), f"as ss lists what it ends: {outcome}")

    def test_all_are_reset_again_and_again(self) -> None:
        self.all_reset(5, 0.7, "--duration", "5")

    def test_all_are_reset_again_and_again_and_little_gets_through(self) -> None:
        self.all_reset(5, 0.7, "--duration", "5", rate="20mbit")

    def test_all_of_an_idle_session_are_reset(self) -> None:
        self.all_reset(4, 1.3, "--bytes", "16M", "--begin-at", str(time.monotonic() + 9))


class Outage(EngineTest):
    """All rails are cut for less than the peer timeout: nothing but time is lost."""

    def test_of_all_rails(self) -> None:
        # Both rails change at once: a rail that is back first would cause a warning about the other rail.
        each = lambda what: " ".join(f"$RWLAB_PROGRAM set --host 1 --nic {nic} {what} &" for nic in (0, 1)) + " wait"
        outcome = net_perf(_TWO, "--bytes", "100M", "--both", deadline_s=60,
                           beside=f"[ $RANK = 0 ] || (moved eth1 3000000; {each('--cut')}; sleep 5; {each('--up')}) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertGreater(outcome.result["seconds"], 5, str(outcome))
        for host in (0, 1):
            self.assertTrue(any("answers again" in said for said in outcome.warnings(host)), str(outcome))
            self.assertLessEqual(len(outcome.warnings(host)), 4, f"as many lanes as before: {outcome}")


    def test_an_abort_meanwhile_waits_for_nobody(self) -> None:
        """Both ends call deregMr, close and finalize in mid-transfer, with the links up or down."""
        for how in ("--cut", "--down"):
            with self.subTest(how=how):
                each = "; ".join(f"$RWLAB_PROGRAM set --host 1 --nic {nic} {how}" for nic in (0, 1))
                outcome = in_lab(_TWO, [str(kBin / "nccl_tests"), "--job", "--outage"],
                                 beside=f"[ $RANK = 0 ] || (moved eth1 3000000; {each}) &")
                self.assertEqual(0, outcome.status, str(outcome))
                self.assertEqual(2, outcome.stdout.count("aborted after"), str(outcome))


class RailLog(EngineTest):
    """Log lines about rails, as an operator reads them."""

    def test_a_link_that_goes_down_and_comes_up(self) -> None:
        """Each end logs two lines: why the rail stopped and how many lanes are left, and that the rail carries again.
        The rail has two lanes."""
        change = "$RWLAB_PROGRAM set --host 1 --nic 1"
        outcome = net_perf(_TWO, "--bytes", "200M", deadline_s=60, setup="export RAILWEAVE_LANES_PER_RAIL=2",
                           beside=f"[ $RANK = 0 ] || (moved eth1 3000000; {change} --down; sleep 1; {change} --up) &")
        self.assertEqual(0, outcome.status, str(outcome))
        for host, cause in ((0, "(the peer gave it up|link down)"), (1, "link down")):
            lost, back = self.warnings_of(host, outcome, 2)
            self.assertRegex(lost, f"rail eth1 to host{1 - host} pid \\d+: {cause}; 2 of 4 lanes left", str(outcome))
            self.assertRegex(back, f"rail eth1 to host{1 - host} pid \\d+: carries again; [34] lanes", str(outcome))


    def test_a_rail_that_flaps_is_named_once(self) -> None:
        """The dialler names the rail once its backoff exceeds two seconds. Each loss doubles the backoff."""
        outcome = net_perf(_TWO, "--duration", "14", deadline_s=60, beside="""
            [ $RANK = 0 ] || (moved eth1 3000000
                              for i in 1 2 3 4 5 6 7 8 9 10 11; do
                                  $RWLAB_PROGRAM set --host 1 --nic 1 --reset; sleep 1
                              done) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        named = [line for line in outcome.warnings(0) + outcome.warnings(1) if "lost often" in line]
        self.assertEqual(1, len(named), str(outcome))
        self.assertRegex(named[0], r"rail eth1 to rail eth1 of host1 pid \d+: lost often or slow; "
                         r"backs off for [2-9] s", str(outcome))


class ReturningRail(EngineTest):
    """A rail that is gone for three seconds in mid-transfer carries again, and no rank gets an error."""

    def check(self, gone: str, back: str, host: int) -> None:
        change = f"$RWLAB_PROGRAM set --host {host} --nic 1"
        outcome = net_perf(_TWO, "--bytes", "320M", deadline_s=60, beside=f"""
            [ $RANK = 0 ] || (moved eth1 3000000; {change} {gone}; sleep 3; {change} {back}
                              echo returned $(cat /sys/class/net/eth1/statistics/rx_bytes)) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        returned = int(outcome.values(1, "returned")[0][0])
        self.assertGreater(outcome.carried(1)["eth1"][1] - returned, 20_000_000, str(outcome))
        for rank in (0, 1):
            self.assertLessEqual(len([warning for warning in outcome.warnings(rank) if "eth1" in warning]), 2,
                                 str(outcome))

    def test_taken_down_at_the_receiver(self) -> None:
        self.check("--down", "--up", 1)

    def test_taken_down_at_the_sender(self) -> None:
        self.check("--down", "--up", 0)

    def test_silent_with_its_carrier_up(self) -> None:
        self.check("--cut", "--up", 0)

    def test_what_its_new_lane_sends_first_is_lost(self) -> None:
        """Small packets pass when the rail is back, larger ones only 1.2 s later. Until then a handshake does not get
        through, or a lane is lost at once. The rail carries within five seconds of its return all the same."""
        outcome = net_perf([*_TWO, "--shape", "switch"], "--duration", "7.5", deadline_s=60,
                           setup="export NCCL_DEBUG=INFO", beside="""
            [ $RANK = 1 ] || (until [ $(cat /sys/class/net/eth1/statistics/tx_bytes) -gt 3000000 ]; do sleep 0.02; done
                              $RWLAB_PROGRAM set --host 1 --nic 1 --cut-out; sleep 1.7  # a SYN-ACK is repeated at 2.2
                              # drops all packets larger than the burst
                              tc qdisc add dev eth1 root tbf rate 1gbit burst 1000 limit 1000000
                              $RWLAB_PROGRAM set --host 1 --nic 1 --up; sleep 1.2
                              tc qdisc del dev eth1 root
                              echo returned $(cat /sys/class/net/eth1/statistics/tx_bytes)) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        returned = int(outcome.values(0, "returned")[0][0])
        self.assertGreater(outcome.carried(0)["eth1"][0] - returned, 5_000_000, str(outcome))

    def test_reset(self) -> None:
        """The pair that was reset is dialled again before the dials of its backup pairs fail, which lead nowhere
        here."""
        outcome = net_perf(_TWO, "--bytes", "160M", deadline_s=60, setup="export NCCL_DEBUG=INFO", beside="""
            [ $RANK = 0 ] || (moved eth1 3000000; $RWLAB_PROGRAM set --host 1 --nic 1 --reset) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        lines = str(outcome).splitlines()
        dialled = [i for i, line in enumerate(lines) if re.search(r"^\[host0\] .*lane \d+ to .*: eth1 ", line)]
        nowhere = [i for i, line in enumerate(lines) if "no handshake within its deadline" in line]
        self.assertEqual(2, len(dialled), str(outcome))
        self.assertTrue(all(dialled[1] < i for i in nowhere), str(outcome))


class StandIn(EngineTest):
    """All NICs are at one switch. Backup lanes between the remaining rails replace a lost pair until it is back."""

    def test_retires_when_the_primary_pair_is_back(self) -> None:
        outcome = net_perf(["--nics", "3", "--rate", "100mbit", "--subnets", "shared", "--shape", "switch",
                            "--arp", "strict"], "--duration", "14", "--both", deadline_s=60,
                           setup="export RAILWEAVE_RAILS=eth1,eth2 NCCL_DEBUG=INFO", beside="""
            [ $RANK = 0 ] || (moved eth1 3000000; $RWLAB_PROGRAM set --host 1 --nic 1 --cut; sleep 3
                              $RWLAB_PROGRAM set --host 1 --nic 1 --up) &""")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        for host in (0, 1):
            # The number of backup lanes depends on the rail whose answer to the first dial arrived first.
            born, lost, retired = (sum(bool(re.search(rf"lane \d+ to .*{what}", said)) for said in outcome.said(host))
                                   for what in (r"pid \d+: eth", " lost: ", " retired$"))
            self.assertGreaterEqual(retired, 1, str(outcome))
            self.assertEqual(2, born - lost - retired, str(outcome))
            self.assertLessEqual(len(outcome.warnings(host)), 2, f"a rail was lost, and is back: {outcome}")


class NewRail(EngineTest):
    """A pair of NICs that is plugged in mid-transfer, as a VF may be, carries data of the existing session. When it is
    unplugged and plugged again under the same name with other addresses, it is the same rail. When it is unplugged
    again, the first rail carries the rest."""

    def test_plugged_unplugged_and_plugged_elsewhere(self) -> None:
        plug = """
            [ $RANK = 0 ] || (moved eth0 3000000; for net in 10.78.0 10.79.0; do
              ip link add eth1 type veth peer name eth1 netns $RWLAB-host0
              ip -n $RWLAB-host0 addr add $net.1/24 dev eth1; ip -n $RWLAB-host0 link set eth1 up
              ip addr add $net.2/24 dev eth1; ip link set eth1 up
              began=$(date +%s)
              moved eth1 10000000
              echo plugged $(($(date +%s) - began))
              ip link del eth1
              sleep 0.5
            done) &"""
        outcome = net_perf(["--nics", "1", "--rate", "200mbit"], "--bytes", "400M", deadline_s=120, beside=plug,
                           setup="export NCCL_SOCKET_IFNAME==eth0,eth1")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        took = [int(seconds) for seconds, in outcome.values(1, "plugged")]
        self.assertEqual(2, len(took), str(outcome))
        self.assertLess(max(took), _SOON_S, str(outcome))
        for host in (0, 1):
            lost, back, again = self.warnings_of(host, outcome, 3)
            self.assertRegex(lost, r"rail eth1 to .*; 1 of 2 lanes left", str(outcome))
            self.assertRegex(back, r"rail eth1 to .*: carries again; 2 lanes", str(outcome))
            self.assertRegex(again, r"rail eth1 to .*; 1 of 2 lanes left", str(outcome))


class OtherInterface(EngineTest):
    """All NICs are in one subnet, and eth0 is no rail. Packets that are not bound to a rail's interface would leave by
    eth0."""

    def macvlan(self, name: str, card: str = "eth2", more: str = "") -> str:
        """Returns commands that make a macvlan. All macvlans of these tests have one address."""
        return (f"ip link add link {card} name {name} {more} type macvlan mode bridge; "
                f"ip addr add 10.77.0.99/24 dev {name}; ip link set {name} up")

    def by_rails_alone(self, host: int, beside: str, setup: str) -> Outcome:
        outcome = net_perf(["--nics", "3", "--rate", "100mbit", "--subnets", "shared"], "--duration", "9", "--both",
                           deadline_s=60, setup=f"{setup}; export NCCL_DEBUG=INFO",
                           beside=f"[ $RANK != {host} ] || (moved eth1 3000000; {beside}) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        for end in (0, 1):
            self.assertLess(outcome.carried(end)["eth0"][0], 5_000_000, str(outcome))
        return outcome

    def renamed(self, host: int) -> None:
        outcome = self.by_rails_alone(host, """
            ip link set eth2 down; ip link set eth2 name net9; ip link set net9 up; sleep 3
            ss -K -Htn state established '( not src 10.77.0.0/24 )' > /dev/null; sleep 2
            echo after $(cat /sys/class/net/net9/statistics/tx_bytes)""",
            "export RAILWEAVE_RAILS=eth1,eth2")
        after = int(outcome.values(host, "after")[0][0])
        self.assertGreater(outcome.carried(host)["net9"][0] - after, 5_000_000,
                           f"it carries, and after a loss of all lanes: {outcome}")

    def test_one_is_renamed_where_lanes_are_dialled(self) -> None:
        self.renamed(0)

    def test_one_is_renamed_where_lanes_are_taken(self) -> None:
        self.renamed(1)

    def test_another_takes_the_name_of_one_that_is_renamed_and_down(self) -> None:
        """The new interface is a rail, too. The renamed one carries once its link is up again."""
        outcome = self.by_rails_alone(1, f"""
            ip link set eth2 down; ip link set eth2 name net9; {self.macvlan('eth2', 'eth1')}
            moved eth2 2000000; ip link set net9 up; sleep 2
            echo after $(cat /sys/class/net/net9/statistics/tx_bytes)""",
            "export NCCL_SOCKET_IFNAME==eth1,eth2")
        after = int(outcome.values(1, "after")[0][0])
        self.assertGreater(outcome.carried(1)["net9"][0] - after, 5_000_000, str(outcome))

    def test_an_index_that_is_used_again_is_another_interface(self) -> None:
        outcome = self.by_rails_alone(1, f"""
            index=$(cat /sys/class/net/vf0/ifindex); ip link del vf0
            {self.macvlan('zz', 'eth0', 'index $index')}; sleep 4; echo after $index""",
            f"[ $RANK = 0 ] || {{ {self.macvlan('vf0')}; }}; "
            "[ $RANK = 0 ] && export NCCL_SOCKET_IFNAME==eth1,eth2 || export NCCL_SOCKET_IFNAME==eth1,vf0")
        self.assertTrue(outcome.values(1, "after"), str(outcome))
        self.assertLess(outcome.carried(1)["zz"][0], 5_000_000, str(outcome))

    def test_the_address_of_a_deleted_one_returns_on_a_new_name(self) -> None:
        outcome = self.by_rails_alone(1, f"""
            ip link del vf0; {self.macvlan('vf1')}; ip -n $RWLAB-host0 neigh flush all; sleep 4
            echo after $(cat /sys/class/net/vf1/statistics/tx_bytes)""",
            f"[ $RANK = 0 ] || {{ ip addr flush dev eth2; {self.macvlan('vf0')}; }}; "
            "[ $RANK = 0 ] && export NCCL_SOCKET_IFNAME==eth1,eth2 || export NCCL_SOCKET_IFNAME==eth1,vf0,vf1")
        after = int(outcome.values(1, "after")[0][0])
        self.assertGreater(outcome.carried(1)["vf1"][0] - after, 5_000_000, str(outcome))


class SlowRail(EngineTest):
    def test_bytes_on_a_rail_that_became_very_slow_take_the_other(self) -> None:
        """The transfer does not wait for the slow rail, which would need minutes for 64 KiB."""
        outcome = net_perf(_TWO, "--bytes", "100M", deadline_s=40,
                           beside="[ $RANK = 0 ] || (moved eth1 3000000; $RWLAB_PROGRAM set --nic 1 --rate 1kbit) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        self.assertRegex("".join(outcome.warnings(0)),
                         r"rail eth1 to host1 pid \d+: (too slow|no answer to what was sent)", str(outcome))


class LostPeer(EngineTest):
    def check_killed(self, victim: int) -> None:
        outcome = net_perf(_TWO, "--bytes", "64G", "--both",
                           beside=f"[ $RANK != {victim} ] || (moved eth0 3000000; kill -9 $pid) &")
        self.assertEqual(128 + 9, outcome.status, str(outcome))
        self.assertLess(outcome.seconds, _SOON_S, str(outcome))
        survivor = 1 - victim
        self.assertIn(f"host{survivor} ended with status 1", outcome.stderr)
        self.assertEqual(1, len(outcome.warnings(survivor)), str(outcome))
        killed = outcome.values(victim, "pid")[0][0]
        self.assertIn(f"host{victim} pid {killed}", outcome.warnings(survivor)[0], str(outcome))
        self.assertIn("ncclRemoteError", "".join(outcome.said(survivor)), str(outcome))

    def test_a_killed_receiver(self) -> None:
        self.check_killed(1)

    def test_a_killed_sender(self) -> None:
        self.check_killed(0)

    def test_a_killed_rank_one_of_whose_rails_is_dead(self) -> None:
        """After 3 s the dialler is dialling the dead rail; after 0.3 s the rail is not given up yet. The survivor waits
        for neither."""
        for victim, after_s in ((0, 3), (1, 3), (0, 0.3), (1, 0.3)):
            with self.subTest(killed=victim, after_s=after_s):
                outcome = net_perf(_TWO, "--bytes", "64G", "--both", deadline_s=50,
                                   setup="export RAILWEAVE_PEER_TIMEOUT=60",
                                   beside=f"[ $RANK != {victim} ] || (moved eth0 3000000; $RWLAB_PROGRAM set "
                                   f"--host {victim} --nic 1 --cut; sleep {after_s}; kill -9 $pid) &")
                self.assertEqual(128 + 9, outcome.status, str(outcome))
                self.assertLess(outcome.seconds, _SOON_S, str(outcome))
                self.assertIn("ncclRemoteError", "".join(outcome.said(1 - victim)), str(outcome))

    def test_a_stopped_rank_is_not_a_silent_one(self) -> None:
        """The kernel of the stopped rank answers on the rail that is left, for longer than the peer timeout."""
        outcome = net_perf(_TWO, "--bytes", "100M", "--both", deadline_s=60, setup="export RAILWEAVE_PEER_TIMEOUT=3",
                           beside="[ $RANK = 0 ] || (moved eth0 3000000; kill -STOP $pid; sleep 1; "
                           "$RWLAB_PROGRAM set --host 1 --nic 1 --cut; sleep 6; kill -CONT $pid) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))

    def test_a_stopped_rank_and_its_return_are_warned_of(self) -> None:
        """The other rank logs a warning after five seconds, and another when the stopped rank continues."""
        outcome = net_perf(_TWO, "--bytes", "100M", "--both", deadline_s=60, beside="[ $RANK = 0 ] || "
                           "(moved eth0 3000000; kill -STOP $pid; sleep 7; kill -CONT $pid) &")
        self.assertEqual(0, outcome.status, str(outcome))
        self.assertEqual(0, outcome.result["verify"]["errors"], str(outcome))
        stopped, back = self.warnings_of(0, outcome, 2)
        self.assertRegex(stopped, r"host1 pid \d+ has not answered for 5 s, though its kernel does", str(outcome))
        self.assertRegex(back, r"host1 pid \d+ answers again", str(outcome))
        self.assertEqual([], outcome.warnings(1), str(outcome))

    def test_a_rank_that_is_stopped_for_ever(self) -> None:
        outcome = net_perf(_TWO, "--bytes", "64G", "--both", deadline_s=30, setup="export RAILWEAVE_STALL_TIMEOUT=7",
                           beside="[ $RANK = 0 ] || (moved eth0 3000000; kill -STOP $pid; sleep 12; kill -9 $pid) &")
        self.assertIn("host0 ended with status 1", outcome.stderr, str(outcome))
        self.assertRegex("".join(outcome.warnings(0)),
                         r"host1 pid \d+ lost: its kernel answers, but it has not for 7 s", str(outcome))

    def test_a_stopped_rank_is_waited_for(self) -> None:
        for rank in (0, 1):
            with self.subTest(stopped=rank):
                outcome = net_perf(_TWO, "--bytes", "100M", "--both", beside=f"[ $RANK != {rank} ] || "
                                   "(moved eth0 3000000; kill -STOP $pid; sleep 3; kill -CONT $pid) &")
                self.assert_works(outcome)
                self.assertGreater(outcome.result["seconds"], 3, str(outcome))


if __name__ == "__main__":
    engine_lab.main()
