"""Discovery on hosts of the lab, asked by railweave-info (the first argument is its path)."""
from __future__ import annotations

import json
import subprocess
import sys
import unittest
from typing import Any

import support
from support import lab

_INFO = ""  # set below


def _ask(script: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Runs `script` in one host with $INFO printing JSON; returns its status and the document. NCCL_SOCKET_IFNAME, which
    the lab sets, is cleared: here the automatic choice is wanted."""
    command = f"unset NCCL_SOCKET_IFNAME; INFO='{_INFO} --json'; {script}"
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
            self.assertTrue(all(":" in address and not address.startswith("fe80") for address in rail["addresses"]), rail)

    def test_links_that_come_up_late_are_waited_for(self) -> None:
        status, document = _ask("ip link set eth0 down; ip link set eth1 down;"
                                "(sleep 0.1; ip link set eth0 up; ip link set eth1 up) & ip link set eth0 up; $INFO; wait")
        self.assertEqual(0, status)
        self.assertIn("eth0", _names(document))

    def test_a_bridge_of_containers_a_vlan_and_loopback_are_left(self) -> None:
        status, document = _ask("ip link add docker0 type bridge; ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up;"
                                "ip link add veth7 type veth peer name veth8; ip link set veth7 master docker0;"
                                "ip link set veth7 up; ip link set veth8 up; $INFO")
        self.assertEqual((0, ["eth0", "eth1"]), (status, _names(document)))
        self.assertIn("bridge without a port", _reason(document, "docker0"))
        self.assertEqual("member of docker0 (bridge)", _reason(document, "veth7"))
        self.assertEqual("loopback: only when named", _reason(document, "lo"))

    def test_what_does_not_exist_is_answered_with_what_does(self) -> None:
        status, document = _ask("RAILWEAVE_RAILS=eth7 $INFO")
        self.assertEqual(1, status)
        self.assertRegex(document["error"], '^RAILWEAVE_RAILS: no interface is called "eth7"; there are: .*eth0.*eth1')

    def test_settings_with_which_no_engine_starts_are_no_success(self) -> None:
        for setting, why in [("RAILWEAVE_KEY_FILE=/nonexistent", "RAILWEAVE_KEY_FILE=/nonexistent: open: "),
                             ("RAILWEAVE_ENCRYPT=1", "RAILWEAVE_ENCRYPT is on, RAILWEAVE_KEY_FILE is empty"),
                             ("RAILWEAVE_TCP_CONGESTION=bbrx", "RAILWEAVE_TCP_CONGESTION: congestion control 'bbrx' refused")]:
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
                               f"ip link set eth0 up; ip link set eth1 up; {_INFO} --json"],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        rail = json.loads(done.stdout)["rails"][0]
        self.assertEqual(("eth0", ""), (rail["name"], rail["pci_path"]))


if __name__ == "__main__":
    _INFO = sys.argv.pop(1)
    support.main()
