"""Discovery on the lab's hosts, as `railweave info` reports it. The first argument is the path of `railweave`."""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import support
from support import lab

_RAILWEAVE = ""  # set below


def _ask(script: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Runs `script` in one host, where $INFO prints JSON. Returns the exit status and the JSON document. Clears
    NCCL_SOCKET_IFNAME, which the lab sets, so that discovery chooses by itself."""
    command = f"unset NCCL_SOCKET_IFNAME; INFO='{_RAILWEAVE} info --json'; {script}"
    done = lab("run", "--hosts", "1", *options, "--", "sh", "-ec", command)
    text = "\n".join(line.split("] ", 1)[-1] for line in done.stdout.splitlines() if line.startswith("[host0] "))
    try:
        return done.returncode, json.loads(text)
    except ValueError:
        raise AssertionError(f"no JSON (status {done.returncode}):\n{done.stdout}\n{done.stderr}") from None


def _names(document: dict[str, Any]) -> list[str]:
    return [rail["name"] for rail in document["rails"]]


def _reason(document: dict[str, Any], name: str) -> str:
    return next(one["reason"] for one in document["interfaces"] if one["name"] == name)


def _setting(name: str, value: int) -> str:
    """Returns a command that applies a setting of IPv4 to every interface."""
    return f"for f in /proc/sys/net/ipv4/conf/*/{name}; do echo {value} >$f; done;"


# Puts eth0 and eth1 into one subnet, whose route leads by eth0.
_ONE_SUBNET = ("ip addr flush dev eth0; ip addr flush dev eth1; "
               "ip addr add 10.7.0.1/24 dev eth0; ip addr add 10.7.0.2/24 dev eth1;")


class Verdicts(unittest.TestCase):
    def _verdicts(self, script: str) -> list[str]:
        status, document = _ask(script + "$INFO")
        self.assertEqual((0, ["eth0", "eth1"]), (status, _names(document)))
        return [rail["verdict"] for rail in document["rails"]]

    def test_arp_of_linux_in_one_subnet(self) -> None:
        as_shipped = _ONE_SUBNET + _setting("arp_ignore", 0) + _setting("rp_filter", 0)
        first, second = self._verdicts(as_shipped)
        self.assertIn("answers ARP for the addresses of eth1", first)
        self.assertIn("answers ARP for the addresses of eth0", second)
        self._assert_mended(as_shipped, first)

    def test_strict_reverse_path_in_one_subnet(self) -> None:
        strict = _ONE_SUBNET + _setting("arp_ignore", 1) + _setting("rp_filter", 1)
        first, second = self._verdicts(strict)
        self.assertEqual("good", first)
        self.assertIn("rp_filter is 1 and the route back leads by eth0", second)
        self._assert_mended(strict, second)

    def _assert_mended(self, script: str, verdict: str) -> None:
        mend = verdict.split("; mend: ")[1]
        self.assertTrue(mend.startswith("sysctl -w "), mend)
        self.assertEqual(["good", "good"], self._verdicts(f"{script} {mend} >&2;"))

    def test_a_default_route_on_one_rail_and_policy_routing(self) -> None:
        set_up = (_setting("arp_ignore", 1)
                  + "ip addr flush dev eth0; ip addr flush dev eth1; ip addr add 10.8.0.1/24 dev eth0;"
                  "ip addr add 10.8.1.1/24 dev eth1; ip route add default via 10.8.0.254;")
        first, second = self._verdicts(set_up)
        self.assertEqual("good", first)
        self.assertIn("good for its own subnet only, for the route beyond leads by eth0", second)
        policy = "ip rule add from 10.8.1.1 lookup 101; ip route add default via 10.8.1.254 dev eth1 table 101;"
        status, document = _ask(set_up + policy + "$INFO")
        self.assertEqual(0, status)
        self.assertEqual(["good", "good"], [rail["verdict"] for rail in document["rails"]])
        self.assertEqual([("reachable", "10.8.0.254"), ("reachable", "10.8.1.254")],
                         [(rail["default_routes"][0]["kind"], rail["default_routes"][0]["gateway"])
                          for rail in document["rails"]])


class Discovery(unittest.TestCase):
    def test_every_nic_is_a_rail(self) -> None:
        status, document = _ask("$INFO", "--nics", "3", "--mtu", "9000")
        self.assertEqual((0, ["eth0", "eth1", "eth2"]), (status, _names(document)))
        self.assertEqual(9000, document["rails"][1]["mtu_bytes"])
        self.assertEqual([["eth0", "eth1", "eth2"]],
                         [[_names(document)[i] for i in device["rails"]] for device in document["devices"]])

    def test_ipv6_and_other_names(self) -> None:
        status, document = _ask("$INFO", "--ipv6", "--names", "ens")
        self.assertEqual((0, ["ens0", "ens1"]), (status, _names(document)))
        for rail in document["rails"]:
            self.assertTrue(all(":" in address and not address.startswith("fe80") for address in rail["addresses"]),
                            rail)

    def test_links_that_come_up_late_are_waited_for(self) -> None:
        status, document = _ask("ip link set eth0 down; ip link set eth1 down;"
                                "(sleep 0.1; ip link set eth0 up; ip link set eth1 up) & "
                                "ip link set eth0 up; $INFO; wait")
        self.assertEqual(0, status)
        self.assertIn("eth0", _names(document))

    def test_a_bridge_of_containers_a_vlan_and_loopback_are_left(self) -> None:
        status, document = _ask("ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; "
                                "ip link set docker0 up;"
                                "ip link add veth7 type veth peer name veth8; ip link set veth7 master docker0;"
                                "ip link set veth7 up; ip link set veth8 up; $INFO")
        self.assertEqual((0, ["eth0", "eth1"]), (status, _names(document)))
        self.assertIn("bridge without a port", _reason(document, "docker0"))
        self.assertEqual("member of docker0 (bridge)", _reason(document, "veth7"))
        self.assertEqual("loopback: only when named", _reason(document, "lo"))

    def test_in_a_pod_the_additional_networks_are_the_rails(self) -> None:
        networks = ('[{"name":"cluster","interface":"eth0","default":true},{"name":"jobs/a","interface":"eth2"},'
                    '{"name":"jobs/b","interface":"eth1"}]')
        with tempfile.NamedTemporaryFile("w") as file:
            named = f"RAILWEAVE_NETWORK_STATUS_FILE={file.name}"
            file.write(networks)
            file.flush()
            status, document = _ask(f"{named} $INFO", "--nics", "3")
            self.assertEqual((0, ["eth1", "eth2"]), (status, _names(document)))
            self.assertEqual("the pod's default network, and there are additional ones", _reason(document, "eth0"))
            status, document = _ask(f"{named} RAILWEAVE_RAILS=eth0 $INFO", "--nics", "3")
            self.assertEqual((0, ["eth0"]), (status, _names(document)))
            file.write("]")
            file.flush()
            status, document = _ask(f"{named} $INFO", "--nics", "3")
            self.assertEqual((1, []), (status, _names(document)))
            self.assertEqual(f"network status {file.name}: byte {len(networks)}: found ']', expected the end",
                             document["error"])

    def test_what_does_not_exist_is_answered_with_what_does(self) -> None:
        status, document = _ask("RAILWEAVE_RAILS=eth7 $INFO")
        self.assertEqual(1, status)
        self.assertRegex(document["error"], '^RAILWEAVE_RAILS: no interface is called "eth7"; there are: .*eth0.*eth1')

    def test_settings_with_which_no_engine_starts_are_no_success(self) -> None:
        for setting, why in [("RAILWEAVE_KEY_FILE=/nonexistent", "RAILWEAVE_KEY_FILE=/nonexistent: open: "),
                             ("RAILWEAVE_ENCRYPT=1", "RAILWEAVE_ENCRYPT is on, RAILWEAVE_KEY_FILE is empty"),
                             ("RAILWEAVE_TCP_CONGESTION=bbrx",
                              "RAILWEAVE_TCP_CONGESTION: congestion control 'bbrx' refused")]:
            with self.subTest(setting):
                status, document = _ask(f"{setting} $INFO")
                self.assertEqual((1, ["eth0", "eth1"]), (status, _names(document)))
                self.assertTrue(document["error"].startswith(why), document["error"])

    def test_without_a_usable_interface_every_one_has_its_reason(self) -> None:
        status, document = _ask("ip link set eth0 down; ip addr flush dev eth1; $INFO")
        self.assertEqual((1, []), (status, _names(document)))
        self.assertRegex(document["error"], "no usable network interface: .*eth0: down")

    def test_a_sysfs_of_another_namespace_does_not_confuse(self) -> None:
        done = subprocess.run(["unshare", "--net", "sh", "-ec",
                               "ip link add eth0 type veth peer name eth1; ip addr add 10.0.0.1/24 dev eth0;"
                               f"ip link set eth0 up; ip link set eth1 up; {_RAILWEAVE} info --json"],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        rail = json.loads(done.stdout)["rails"][0]
        self.assertEqual(("eth0", ""), (rail["name"], rail["pci_path"]))


if __name__ == "__main__":
    _RAILWEAVE = sys.argv.pop(1)
    support.main()
