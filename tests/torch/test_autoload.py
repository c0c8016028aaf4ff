"""`import torch` brings the backend: in either order of imports, beside workers, and from broken installations. Each
script is a process of its own; its cases that need a fresh state are forked from it."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import railweave
from railweave import _autoload

_TREE = Path(railweave.__file__).resolve().parents[1]
_MOST_S = 0.005
_USES = """
import json, os, sys, threading, time

def use():
    import torch.distributed as dist
    dist.init_process_group("railweave", store=dist.HashStore(), rank=0, world_size=1)
    dist.destroy_process_group()

def loaded():
    return sorted(name for name in sys.modules if name.partition(".")[0] == "railweave")

def forked(body):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = body()
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as answer:
        return json.load(answer)
"""


def _answer(script: str, *args: str, tree: Path = _TREE, options: tuple[str, ...] = (), **environment: str) -> Any:
    """Runs a script with the package of `tree`. Returns the JSON of its last line of output."""
    done = subprocess.run([sys.executable, "-B", *options, "-c", _USES + textwrap.dedent(script), *args], text=True,
                          env={**os.environ, "PYTHONPATH": str(tree), **environment}, capture_output=True, timeout=120,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


class AutoloadTest(unittest.TestCase):
    def folder(self) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="railweave-test-")
        self.addCleanup(folder.cleanup)
        return Path(folder.name)

    def test_torch_first__bad_settings_are_named_by_the_use(self) -> None:
        said = _answer("""
            import torch
            after = loaded()
            said = forked(use)
            del os.environ["RAILWEAVE_LANES_PER_RAIL"]
            print(json.dumps([after, said, forked(use)]))
            """, RAILWEAVE_LANES_PER_RAIL="many", RAILWEAVE_RAILS="?", RAILWEAVE_TRACE="/nowhere/x.json")
        self.assertEqual(["railweave", "railweave._autoload"], said[0])
        for expected in "DistBackendError", "RAILWEAVE_LANES_PER_RAIL", "many":
            self.assertIn(expected, said[1])
        self.assertIn("RAILWEAVE_RAILS", said[2])

    def test_railweave_first__torch_comes_with_the_use(self) -> None:
        before, after = _answer("""
            import railweave
            before = "torch" in sys.modules
            import torch.distributed
            use()
            print(json.dumps([before, loaded()]))
            """)
        self.assertFalse(before)
        self.assertIn("railweave._C", after)

    def test_without_autoload__the_import_registers_and_is_cheap(self) -> None:
        unknown, spent, started, used = _answer("""
            import torch
            from importlib.metadata import entry_points
            [point] = [one for one in entry_points(group="torch.backends") if one.name == "railweave"]

            def load():
                began = time.perf_counter()
                point.load()()
                return time.perf_counter() - began

            unknown = forked(use)
            spent = [forked(load) for _ in range(7)]
            threads, descriptors = ("/proc/self/task", "/proc/self/fd")
            before = [len(os.listdir(folder)) for folder in (threads, descriptors)]
            import railweave
            started = [len(os.listdir(folder)) for folder in (threads, descriptors)] != before
            print(json.dumps([unknown, min(spent), started, forked(use)]))
            """, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertIn("railweave", unknown)
        self.assertLess(spent, _MOST_S)
        self.assertFalse(started)
        self.assertIsNone(used)

    def test_a_broken_installation_is_named_by_the_use(self) -> None:
        tree = self.folder()
        shutil.copytree(_TREE / "railweave", tree / "railweave",
                        ignore=shutil.ignore_patterns("_C*.so", "_built_for.py", "lib", "bin"))
        for metadata in _TREE.glob("railweave-*.dist-info"):
            shutil.copytree(metadata, tree / metadata.name)
        [extension] = (_TREE / "railweave").glob("_C*.so")
        said = _answer("""
            import importlib, pathlib, torch
            package, extension = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

            def after(change):
                change()
                importlib.invalidate_caches()
                return forked(use)

            version = package / "_built_for.py"
            print(json.dumps([
                after(lambda: None),
                after(lambda: version.write_text("TORCH_VERSION = '2.99.0'")),
                after(lambda: version.write_text(f"TORCH_VERSION = '{torch.__version__}'  # this one")),
                after(lambda: (package / extension.name).write_text("no library")),
                after(lambda: ((package / extension.name).unlink(), (package / extension.name).symlink_to(extension))),
            ]))
            """, str(tree / "railweave"), str(extension), tree=tree)
        for text, expected in zip(said, ("_built_for", "built for torch 2.99 ", "railweave._C", "file too short")):
            self.assertRegex(text, "^ImportError: .*pip install ")
            self.assertIn(expected, text)
        self.assertIsNone(said[4])

    def test_compile_and_workers_leave_the_backend_alone(self) -> None:
        folder = self.folder()
        found = _answer("""
            import torch, torch.distributed as dist
            from torch._inductor.compile_worker.subproc_pool import SubprocPool
            from torch.utils.data import DataLoader
            pool = SubprocPool(1)  # as torch.compile starts its workers
            ours = "sorted(name for name in __import__('sys').modules if name.startswith('railweave'))"
            in_worker = pool.submit(eval, ours)
            loader = DataLoader(range(4), 2, num_workers=1, multiprocessing_context="spawn")
            batches = [batch.tolist() for batch in loader]
            assert batches == [[0, 1], [2, 3]], batches
            after = [loaded(), in_worker.result(timeout=60)]
            pool.shutdown()
            dist.init_process_group("railweave", store=dist.HashStore(), rank=0, world_size=1)

            @torch.compile(backend="aot_eager", fullgraph=True)
            def summed(tensor):
                dist.all_reduce(tensor)
                return tensor + 1

            print(json.dumps([*after, summed(torch.ones(2)).tolist()]))
            """, RAILWEAVE_TRACE=f"{folder}/%r.json")
        self.assertEqual([*[["railweave", "railweave._autoload"]] * 2, [2.0, 2.0]], found)
        self.assertEqual(["0.json"], [path.name for path in folder.iterdir()])

    def test_without_torch__the_package_imports(self) -> None:
        version, names, said = _answer("""
            import railweave
            try:
                railweave.trace
            except ImportError as error:
                print(json.dumps([railweave.__version__, dir(railweave), str(error)]))
            """, options=("-S",))
        self.assertRegex(version, r"^\d+\.\d+")
        self.assertLessEqual(set(railweave.__all__), set(names))
        self.assertRegex(said, "railweave.trace needs torch; install torch and the wheel railweave-torch")

    def test_no_exception_leaves_register(self) -> None:
        with mock.patch.dict(sys.modules, {"torch": types.ModuleType("torch"), "torch.distributed": None}), \
                mock.patch.object(_autoload, "failure", None):
            _autoload.register()
            self.assertIsInstance(_autoload.failure, ImportError)


class ProgramTest(unittest.TestCase):
    def ran(self, *args: str, script: str = "") -> subprocess.CompletedProcess[str]:
        module = ["-c", script] if script else ["-m", "railweave"]
        return subprocess.run([sys.executable, "-B", "-S", *module, *args], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(_TREE)}, check=False)

    def test_python_becomes_the_program_of_the_package(self) -> None:
        done = self.ran("--version")
        self.assertEqual((0, f"railweave {railweave.__version__}\n", ""), (done.returncode, done.stdout, done.stderr))
        self.assertEqual(64, self.ran("nothing").returncode)
        plugin = self.ran("path").stdout.strip()
        self.assertEqual(str(_TREE / "railweave" / "lib" / "libnccl-net-railweave.so"), plugin)

    def test_a_missing_program_is_named(self) -> None:
        for function, name in (("main", "railweave"), ("net_perf", "railweave-net-perf")):
            done = self.ran(script="import sys, pathlib; from railweave import __main__; "
                                   f"__main__.PROGRAMS = pathlib.Path('/nowhere'); sys.exit(__main__.{function}())")
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, f"^{name}: cannot run /nowhere/{name}: No such file.*install railweave")


if __name__ == "__main__":
    unittest.main()
