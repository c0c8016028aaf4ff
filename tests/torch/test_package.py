"""The Python package: the torch version that it accepts, its registration as a backend, and its settings for NCCL."""
from __future__ import annotations

import os
import subprocess
import sys
import unittest
from unittest import mock

import torch
import torch.distributed as dist

import railweave
from railweave import _extension, _nccl, _version
from railweave._built_for import TORCH_VERSION


class PackageTest(unittest.TestCase):
    def test_it_is_built_for_this_torch(self) -> None:
        self.assertEqual(_version.minor(torch.__version__), _version.minor(_extension._C.built_for_torch))

    def test_another_minor_version_is_refused_with_both_named(self) -> None:
        with self.assertRaises(ImportError) as raised:
            _version.check_torch("2.99.1+cu130", TORCH_VERSION, "pip install X")
        for expected in ("2.99.1+cu130", TORCH_VERSION, f"'torch=={_version.minor(TORCH_VERSION)}.*'", "pip install X"):
            self.assertIn(expected, str(raised.exception))
        _version.check_torch(_version.minor(torch.__version__) + ".7", TORCH_VERSION, "")  # another patch level

    def test_it_is_registered_once(self) -> None:
        railweave.register()
        self.assertIn("railweave", dist.Backend.backend_list)
        devices = ["cpu", "cuda"] if torch.backends.cuda.is_built() else ["cpu"]
        self.assertEqual(devices, dist.Backend.backend_capability["railweave"])

    def test_an_ill_formed_variable_is_named(self) -> None:
        script = ("import railweave, torch.distributed as dist; "
                  "dist.init_process_group('railweave', store=dist.HashStore(), rank=0, world_size=1)")
        done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "RAILWEAVE_LANES_PER_RAIL": "many"},
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(0, done.returncode)
        self.assertIn("DistBackendError", done.stderr)
        self.assertIn("RAILWEAVE_LANES_PER_RAIL", done.stderr)
        self.assertIn("many", done.stderr)

    def test_the_nccl_plugin_comes_along(self) -> None:
        with mock.patch.dict(os.environ, clear=False):
            for name in ("NCCL_NET_PLUGIN", "NCCL_NET", "NCCL_NET_PLUGIN_REF_COUNT"):
                os.environ.pop(name, None)
            path = railweave.enable_nccl_plugin()
            self.assertTrue(path.is_file())
            self.assertEqual(str(path), os.environ["NCCL_NET_PLUGIN"])
            self.assertEqual("Railweave", os.environ["NCCL_NET"])

    def test_what_the_user_set_is_left(self) -> None:
        with mock.patch.dict(os.environ, {"NCCL_NET_PLUGIN": "mine"}):
            railweave.enable_nccl_plugin(required=False)
            self.assertEqual("mine", os.environ["NCCL_NET_PLUGIN"])

    def test_only_an_nccl_that_forgets_plugins_is_told_to_keep_them(self) -> None:
        for version, kept in (((2, 25, 1), None), ((2, 28, 9), "1"), ((2, 30, 3), None)):
            with mock.patch.dict(os.environ), mock.patch.object(_nccl, "_nccl_version", return_value=version):
                os.environ.pop("NCCL_NET_PLUGIN_REF_COUNT", None)
                railweave.enable_nccl_plugin()
                self.assertEqual(kept, os.environ.get("NCCL_NET_PLUGIN_REF_COUNT"), version)


if __name__ == "__main__":
    unittest.main()
