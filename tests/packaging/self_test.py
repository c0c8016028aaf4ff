#!/usr/bin/env python3
"""The parts of packaging that need no compiler: what a file needs of a system, tags, metadata, sources and results."""
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
sys.dont_write_bytecode = True

from checks import readme, result  # noqa: E402
from recipes import debs, debug_info, elf, host_packages, project, sources, tarballs, targets  # noqa: E402
from recipes.contents import Entry  # noqa: E402

# As readelf prints of a plugin: a library, a symbol version of it, a table, an imported symbol.
READELF = """
  GNU_STACK      0x000000 0x0000000000000000 0x0000000000000000 0x000000 0x000000 {stack} 0x0
 0x0000000000000001 (NEEDED)             Shared library: [{library}]
Version needs section '.gnu.version_r' contains 1 entry:
  000000: Version: 1  File: {library}  Cnt: 1
  0x0010:   Name: {version}  Flags: none  Version: 5
     7: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND malloc@GLIBC_2.2.5 (2)
    10: 00000000004e3e60   152 OBJECT  GLOBAL DEFAULT   20 {exported}
"""


def needs(library="libc.so.6", version="GLIBC_2.28", exported="ncclNetPlugin_v9", stack="RW "):
    return elf.parse(READELF.format(library=library, version=version, exported=exported, stack=stack))


class ElfTest(unittest.TestCase):
    def test_a_plugin_of_glibc_2_28_is_fit(self):
        self.assertEqual([], elf.problems(needs(), plugin=True))

    def test_a_newer_symbol_is_named(self):
        found = elf.problems(needs(version="GLIBC_2.34"), plugin=True)
        self.assertEqual(["needs GLIBC_2.34 of libc.so.6, expected at most GLIBC_2.28"], found)

    def test_minor_versions_are_numbers(self):
        self.assertEqual([], elf.problems(needs(version="GLIBC_2.3.4"), plugin=True))
        self.assertEqual([], elf.problems(needs(version="GLIBC_2.4"), plugin=True))

    def test_a_private_symbol_version_is_refused(self):
        self.assertTrue(elf.problems(needs(version="GLIBC_PRIVATE"), plugin=True))
        self.assertTrue(elf.problems(needs(version="GLIBC_ABI_DT_RELR"), plugin=True))

    def test_another_library_is_refused(self):
        found = elf.problems(needs(library="libstdc++.so.6", version="GLIBCXX_3.4"), plugin=True)
        self.assertEqual(2, len(found), found)

    def test_a_plugin_exports_tables_alone(self):
        self.assertIn("exports SSL_new", " ".join(elf.problems(needs(exported="SSL_new"), plugin=True)))
        self.assertEqual([], elf.problems(needs(exported="SSL_new"), plugin=False))

    def test_an_executable_stack_is_refused(self):
        self.assertIn("executable stack", " ".join(elf.problems(needs(stack="RWE"), plugin=True)))

    def test_a_search_path_is_refused(self):
        given = needs()
        given.search_path = elf.parse(" 0x000000000000001d (RUNPATH)   Library runpath: [/opt/lib]").search_path
        self.assertEqual(["searches libraries in /opt/lib; link without -rpath"], elf.problems(given, plugin=True))


class WheelPlatformTest(unittest.TestCase):
    def platform(self, *versions):
        return elf.wheel_platform(elf.Needs(versions={"libc.so.6": set(versions)}), "x86_64")

    def test_the_newest_symbol_decides(self):
        self.assertEqual("manylinux_2_36_x86_64", self.platform("GLIBC_2.2.5", "GLIBC_2.36", "GLIBCXX_3.4.11"))
        self.assertEqual("manylinux_2_35_x86_64", self.platform("GLIBC_2.34", "GLIBCXX_3.4.30", "CXXABI_1.3.13"))
        self.assertEqual("manylinux_2_17_x86_64", self.platform("GLIBC_2.2.5"))

    def test_an_unknown_symbol_version_has_no_platform(self):
        with self.assertRaises(ValueError):
            self.platform("GLIBCXX_3.4.99")
        with self.assertRaises(ValueError):
            self.platform("GLIBC_PRIVATE")


class DebugInformationTest(unittest.TestCase):
    def test_debuggers_find_it_by_build_id(self):
        identity = debug_info.build_id("    Build ID: 0123456789abcdef\n")
        self.assertEqual(Path(".build-id/01/23456789abcdef.debug"), debug_info.debug_file(identity))

    def test_a_file_without_build_id_is_named(self):
        with self.assertRaises(ValueError):
            debug_info.build_id("Displaying notes found in: .note.ABI-tag\n")


class ProjectTest(unittest.TestCase):
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())

    def test_railweave_needs_no_torch(self):
        project_table = project.wheel_of_railweave(self.given, "")["project"]
        version = project_table["version"]
        self.assertEqual([], project_table["dependencies"])
        self.assertEqual({"torch": [f"railweave-torch=={version}"]}, project_table["optional-dependencies"])
        self.assertNotIn("dynamic", project_table)
        self.assertIn("dynamic", self.given["project"], "the given table was changed")

    def test_the_extension_needs_its_torch_and_the_same_railweave(self):
        project_table = project.wheel_of_extension(self.given, "", "2.13", "3.11")["project"]
        self.assertEqual(["torch==2.13.*", f"railweave=={project_table['version']}"], project_table["dependencies"][:2])
        self.assertEqual("==3.11.*", project_table["requires-python"])
        self.assertNotIn("entry-points", project_table)

    def test_pages_are_those_of_the_clone(self):
        self.assertEqual("https://example.org/a/b", project.urls("https://example.org/a/b.git\n")["Homepage"])
        for remote in ("", "git@example.org:a/b.git", "/some/folder", "https://user:word@example.org/a"):
            self.assertEqual({}, project.urls(remote), remote)

    def test_cmake_has_the_same_version(self):
        self.assertIn(f"project(railweave VERSION {project.version()} ", (ROOT / "CMakeLists.txt").read_text())

    def test_the_torch_version_is_read(self):
        self.assertEqual("2.13", project.torch_minor('TORCH_VERSION = "2.13.0+cpu"\n'))
        with self.assertRaises(ValueError):
            project.torch_minor("")


class DebTest(unittest.TestCase):
    def test_control_says_what_the_package_needs(self):
        entries = [Entry("usr/bin/railweave", b"x" * 1025, True)]
        text = debs.control("railweave", "1.2.3", targets.AARCH64, entries)
        for line in ("Package: railweave", "Architecture: arm64", "Depends: libc6 (>= 2.28)", "Installed-Size: 2"):
            self.assertIn(f"{line}\n", text)
        self.assertIn("Depends: railweave (= 1.2.3)\n", debs.control("railweave-dbg", "1.2.3", targets.X86_64, []))


class SourcesTest(unittest.TestCase):
    def test_every_source_is_pinned(self):
        for source in sources.pinned((ROOT / "packaging" / "sources.toml").read_text()):
            self.assertRegex(source.sha256, r"^[0-9a-f]{64}$")
            self.assertTrue(source.licences, source.name)
            self.assertRegex(source.url, r"^https?://")

    def test_another_content_is_refused(self):
        source = sources.Source("a", "http://localhost/a", "0" * 64, ())
        with self.assertRaisesRegex(sources.SourceFailed, "expected 0000"):
            sources.check(source, b"")

    def test_packages_are_named_one_a_line(self):
        self.assertEqual(["a", "b"], host_packages.named("# why\na\n\nb\n"))


class TarballTest(unittest.TestCase):
    def test_equal_files_give_equal_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            written = []
            for name, entries in (("a", [Entry("x", b"1"), Entry("y", b"2", True)]),
                                  ("b", [Entry("y", b"2", True), Entry("x", b"1")])):
                tarballs.write(Path(folder, name), "top", entries, 1_000_000)
                written.append(Path(folder, name).read_bytes())
        self.assertEqual(*written)


class ReadmeTest(unittest.TestCase):
    def test_the_sections_have_what_checks_run(self):
        self.assertIn("export NCCL_NET=Railweave", readme.nccl_exports())
        compile(readme.training_script(), "train.py", "exec")

    def test_only_variables_of_nccl_are_taken(self):
        text = "    export NCCL_NET=A   # why\n    export PATH=x\nexport NCCL_B=2\n"
        self.assertEqual(["export NCCL_NET=A"], readme.exports(text))


class ResultTest(unittest.TestCase):
    def test_failures_are_counted_and_shortened(self):
        outcomes = [result.Outcome("one", "seen"), result.Outcome("three", "", "why\nmore")]
        page = result.text("abc", "a host", outcomes, [])
        self.assertIn("PASS  one    seen\nFAIL  three  why\n\n1 passed, 1 failed\n", page)


if __name__ == "__main__":
    unittest.main()
