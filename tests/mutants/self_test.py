#!/usr/bin/env python3
"""A mutant's edits find their text once or report why not, change the right text, and are undone to the byte."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True

import edits  # noqa: E402

HEADER = "Pitfall: what goes wrong\nTest: unit_base Suite.Case*\n"


def edit(removed, put):
    return f"\n<<<< remove\n{removed}\n==== put\n" + (f"{put}\n" if put else "") + ">>>>\n"


class EditsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, files):
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(text.encode())

    def mutant(self, *pairs, text=None):
        path = self.root / "a.mutant"
        path.write_text(text or HEADER + "".join(edit(*pair) for pair in pairs))
        return edits.parse(path)

    def expect(self, before, pairs, after):
        """Asserts that the edits turn `before` into `after`, and that undo() restores `before`."""
        self.write({"plugin/a.cc": before})
        applied = edits.apply(self.root, self.mutant(*pairs))
        self.assertEqual((self.root / "plugin/a.cc").read_bytes().decode(), after)
        edits.undo(self.root, applied)
        self.assertEqual((self.root / "plugin/a.cc").read_bytes().decode(), before)

    def refuse(self, files, pairs, pattern):
        """Asserts that the edits do not apply for this reason, and change nothing."""
        self.write(files)
        with self.assertRaisesRegex(edits.EditError, pattern):
            edits.apply(self.root, self.mutant(*pairs))
        self.assertEqual({name: (self.root / name).read_bytes().decode() for name in files}, files)

    def test_the_header_and_the_edits_are_read(self):
        read = self.mutant(("a", "b"), ("c\n  d", ""))
        self.assertEqual((read.pitfall, read.program, read.filter), ("what goes wrong", "unit_base", "Suite.Case*"))
        self.assertEqual(read.edits, [edits.Edit(4, "a", "b"), edits.Edit(10, "c\n  d", "")])

    def test_text_that_is_not_found(self):
        self.refuse({"plugin/a.cc": "int x;\n"}, [("int x;", "int y;"), ("int z;", "")],
                    r"^a\.mutant:10: 'int z;' is found 0 times \(searched: plugin, .*\); look")

    def test_text_that_is_found_twice(self):
        self.refuse({"plugin/a.cc": "\nint x;\n", "include/b.h": "int x;\n"}, [("int x;", "int y;")],
                    r"^a\.mutant:4: 'int x;' is found 2 times \(include/b\.h:1, plugin/a\.cc:2\); remove more")
        self.refuse({"plugin/a.cc": "int x; int x;\n", "include/b.h": ""}, [("int x;", "int y;")],
                    r"found 2 times \(plugin/a\.cc:1, plugin/a\.cc:1\)")

    def test_files_that_are_not_searched(self):
        self.refuse({"docs/a.md": "int x;\n", "tests/unit/a.cc": "int x;\n"}, [("int x;", "int y;")], "found 0 times")
        self.write({"tests/sim/a.cc": "int x;\n"})
        (self.root / "plugin").mkdir()
        (self.root / "plugin/a.bin").write_bytes(b"\xff int x;")
        self.assertEqual(list(edits.apply(self.root, self.mutant(("int x;", "int y;")))), ["tests/sim/a.cc"])

    def test_part_of_a_line(self):
        self.expect("  if (a && b.c()) f();\n", [("a && b.c()", "a")], "  if (a) f();\n")

    def test_text_that_spans_lines(self):
        self.expect("  {\n    a();\n    b();\n  }\n", [("a();\nb();", "b();\nif (x)\n  a();")],
                    "  {\n    b();\n    if (x)\n      a();\n  }\n")
        self.expect("  if (x)\n    a(1,\n      2);\n", [("a(1, 2);", "a(2, 1);")], "  if (x)\n    a(2, 1);\n")
        self.expect("  x = a(1, 2);\n", [("a(1,\n  2);", "a(\n\n  1);")], "  x = a(\n\n    1);\n")

    def test_the_indentation_of_the_mutants_file_does_not_matter(self):
        self.expect("\n  a();\n", [("    a();", "    b();\n    a();")], "\n  b();\n  a();\n")
        self.expect("\n  a();\n", [("a();", "  b();\na();")], "\n  b();\na();\n")

    def test_lines_that_are_removed_go_wholly(self):
        self.expect("x\n  a();\n  b();\ny\n", [("a();\nb();", "")], "x\ny\n")
        self.expect("x\n  a();  // why\ny\n", [("a();", "")], "x\n    // why\ny\n")
        self.expect("x\na();", [("a();", "")], "x\n")

    def test_two_edits_in_one_file(self):
        self.expect("a\nb\nc\nd\n", [("c", "a\nb"), ("a", ""), ("b", "")], "a\nb\nd\n")
        self.refuse({"plugin/a.cc": "a b c\n"}, [("a b", "x"), ("b c", "y")],
                    r"^a\.mutant:4: overlaps another edit in plugin/a\.cc")

    def test_edits_in_two_files(self):
        self.write({"plugin/a.cc": "a\n", "include/b.h": "b\n"})
        self.assertEqual(edits.mutate(self.mutant(("a", "x"), ("b", "y")), edits.read_tree(self.root)),
                         {"plugin/a.cc": "x\n", "include/b.h": "y\n"})

    def test_undo_keeps_every_byte(self):
        self.expect("a\r\nb\t\n\n", [("a", "x")], "x\r\nb\t\n\n")

    def test_a_move_to_another_file_and_depth(self):
        mutant = self.mutant(("if (a)\n  b();", "b();"))
        for name, text, after in [("plugin/a.cc", "  if (a)\n    b();\n", "  b();\n"),
                                  ("collectives/a.cc", "if (a) b();\n", "b();\n")]:
            self.assertEqual(edits.mutate(mutant, {name: text}), {name: after})

    def test_forms_that_are_refused(self):
        whole = edit("a", "b")
        for text, pattern in [(whole, r"^a\.mutant:1: lacks a line"),
                              (HEADER, r"^a\.mutant:1: lacks an edit"),
                              (HEADER + edit("", "b"), r"^a\.mutant:4: removes nothing"),
                              (HEADER + edit("a  b", "a\nb"), r"^a\.mutant:4: puts the text that it removes"),
                              (HEADER + whole.replace(">>>>\n", "") + whole, r"^a\.mutant:4: an edit is"),
                              (HEADER + whole + "more\n" + whole, r"^a\.mutant:11: an edit is"),
                              (HEADER + whole + "<<<< remove\n", r"^a\.mutant:1: lacks an edit, or its last")]:
            with self.subTest(text), self.assertRaisesRegex(edits.EditError, pattern):
                self.mutant(text=text)

    def test_problems_are_told_for_each_mutant(self):
        self.write({"plugin/a.cc": "a\n"})
        for name, text in [("good", HEADER + edit("a", "b")), ("gone", HEADER + edit("x", "y")), ("broken", "")]:
            (self.root / f"{name}.mutant").write_text(text)
        found = list(edits.problems(self.root, sorted(self.root.glob("*.mutant"))))
        self.assertEqual([problem.split(": ")[0] for problem in found], ["broken.mutant:1", "gone.mutant:4"])


if __name__ == "__main__":
    unittest.main()
