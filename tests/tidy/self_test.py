#!/usr/bin/env python3
"""Each rule of tests/tidy finds a violation made for it and accepts clean sources."""

import json
import tempfile
import unittest
from pathlib import Path

import check
import cxx
import headers
import layout
import rules


class Tree:
    """A temporary source tree."""

    def __init__(self, files):
        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name)
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def __enter__(self):
        return self.root

    def __exit__(self, *_):
        self.directory.cleanup()


class TidyTest(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        page = ("# A `b`: (c) d\n\n## Same\n\n## Same\n\n"
                "[here](#a-b-c-d), [too](#same-1), [there](../b.md), [out](https://a/b)\n"
                "`[code](none)`\n\n    [code](none)\n\n```\n[code](none)\n# no\n```\n")
        self.expect("links", {"docs/a.md": page, "b.md": "See [a](docs/a.md#same).\n"})
        self.expect("links", {"docs/a.md": page + "[x](b.md) and [y](#same-2)\n", "b.md": "[z](docs/a.md#no)\n"},
                    "b.md:1: a link to the heading #no of a.md", "docs/a.md:16: a link to b.md, which does not exist",
                    "docs/a.md:16: a link to the heading #same-2")

    def expect(self, which, files, *beginnings):
        with Tree(files) as root:
            found = list(check.CHECKS[which](root))
        self.assertEqual(len(found), len(beginnings), found)
        for finding, beginning in zip(found, beginnings):
            self.assertTrue(finding.startswith(beginning), f"{finding!r} does not begin with {beginning!r}")

    def test_includes_point_inward(self):
        self.expect("layers", {"plugin/protocol/a.cc": '#include "protocol/a.h"\n#include "base/fifo.h"\n'
                                                       '#include "railweave/status.h"\n#include "wire/wire.h"\n'},
                    'plugin/protocol/a.cc:4: protocol may include protocol, base, railweave and not "wire/wire.h"')
        self.expect("layers", {"include/railweave/a.h": '#include "base/fd.h"\n'}, "include/railweave/a.h:1: ")
        self.expect("layers", {"plugin/wire/tcp/a.h": '#include "engine/engine.h"\n'}, "plugin/wire/tcp/a.h:1: ")
        self.expect("layers", {"plugin/base/a.cc": ' #  include "a.h"\n'}, "plugin/base/a.cc:1: ")
        self.expect("layers", {"plugin/newlayer/a.cc": ""}, "plugin/newlayer/a.cc:1: plugin/newlayer is no layer")
        self.expect("layers", {"collectives/exec/links.cc": '#include "engine/engine.h"\n'},
                    "collectives/exec/links.cc:1: ")
        self.expect("layers", {"plugin/protocol/a.cc": "#include <engine/session/session.h>\n#include <sys/x.h>\n"},
                    'plugin/protocol/a.cc:1: protocol may include protocol, base, railweave and not "engine/session')
        self.expect("layers", {"plugin/protocol/a.cc": "#include <protocol/a.h>\n#include <railweave/a.h>\n",
                               "tests/unit/a.cc": '#include "engine/engine.h"\n'})

    def test_each_pattern_has_a_line_that_it_finds(self):
        # Path and violations, in the order of rules.PATTERNS.
        violations = [
            ("plugin/engine/a.cc", 'const char* home = getenv("HOME");'),
            ("plugin/protocol/a.h", "#include <sys/socket.h>"),
            ("plugin/protocol/a.h", '#include "base/clock.h"', "#include <base/clock.h>"),
            ("plugin/protocol/a.cc", "const TimePoint t = now();"),
            ("plugin/engine/a.cc", "auto t = std::chrono::steady_clock::now();"),
            ("plugin/engine/a.cc", 'std::cout << "hello";'),
            ("plugin/engine/a.cc", "volatile bool quit;"),
            ("plugin/engine/a.cc", 'if (!ok) throw std::runtime_error("no");'),
            ("tests/unit/a.cc", "#define private public"),
            ("plugin/engine/a.h", "using namespace std;"),
            ("plugin/engine/a.cc", '#include "../base/fd.h"', "#include <../base/fd.h>", '#include "base/../wire/y.h"'),
            ("plugin/engine/a.cc", "#include ENGINE_HEADER"),
            ("plugin/engine/a.cc", "#include <CLI/CLI.hpp>"),
            ("plugin/engine/a.cc", "#include <openssl/hmac.h>"),
            ("plugin/engine/a.cc", '#include "wire/tcp/lane.h"', "#include <wire/tcp/lane.h>"),
            ("plugin/base/a.cc", '#include "wire/sim/lane.h"', "#include <wire/sim/lane.h>"),
            ("plugin/protocol/a.cc", "if (header.aux >= kClasses) return malformed(header);"),
            ("tests/unit/a.cc", "#if defined(__SANITIZE_ADDRESS__)", "#if __has_feature(address_sanitizer)"),
            ("tests/unit/a.cc", "// clang-format off"),
            ("docs/a.md", "TO" "DO: write this"),
        ]
        self.assertEqual(len(violations), len(rules.PATTERNS), "a pattern without a test")
        for (name, *lines), rule in zip(violations, rules.PATTERNS):
            for line in lines:
                with self.subTest(line), Tree({name: f"\n{line}\n"}) as root:
                    found = list(check.check_patterns(root))
                    self.assertTrue(any(f.startswith(f"{name}:2: ") and rule.instead in f for f in found), found)

    def test_patterns_leave_comments_strings_and_exceptions_alone(self):
        self.expect("patterns", {
            "plugin/engine/a.cc": '// never volatile, getenv\nlog("do not throw, getenv");\n/* std::cout\n*/\n',
            "plugin/base/a.cc": 'getenv("A");\n',
            "plugin/nccl/a.cc": "try { f(); } catch (...) { throw; }\n",
            "perf/programs/info/main.cc": 'std::printf("%d", 1);\n',
        })

    def test_unnamed_frame_fields_occur_in_their_own_files_only(self):
        for line in ("n += h->b;", "say({.type = FrameType::fence, .aux = 1});", "frames[0].header.a = 1;"):
            self.expect("patterns", {"plugin/engine/a.cc": line + "\n"}, "plugin/engine/a.cc:1: ")
        self.expect("patterns", {"plugin/protocol/frame.cc": "h.aux = h.b;\n",
                                 "plugin/protocol/frame_fields.h": "h.aux = h.b;\n",
                                 "tests/unit/a.cc": "h.aux = h.b;\n",
                                 "plugin/engine/a.cc": "world.a().run(f.auxiliary, x.ab);\n"})

    def test_no_path_of_this_machine(self):
        with Tree({}) as root:
            (root / "a.md").write_text(f"see {root}/docs\n")
            self.assertTrue(next(check.check_patterns(root)).startswith("a.md:1: names this machine's path"))

    def test_names(self):
        self.expect("names", {"plugin/base/a_util.h": "", "plugin/base/utility.h": ""}, "plugin/base/a_util.h:1")
        self.expect("names", {"plugin/helpers/a.h": ""}, "plugin/helpers/a.h:1")
        self.expect("names", {"plugin/base/OwnedFd.h": ""}, "plugin/base/OwnedFd.h:1: C++ files are named")
        self.expect("names", {"a.h": "class RW_CAPABILITY(\"lanes\") LaneManager {};\nstruct Managed;\n",
                              "a.py": "class IoUtils:\n    pass\n"},
                    "a.h:1: 'Manager' of LaneManager", "a.py:1: 'Utils' of IoUtils")

    def test_mutants_apply(self):
        mutant = "Pitfall: none\nTest: a b\n\n<<<< remove\nint a;\n==== put\nint b;\n>>>>\n"
        self.expect("mutants", {"plugin/x.cc": "int a;\n", "tests/mutants/1.mutant": mutant})
        self.expect("mutants", {"plugin/x.cc": "int c;\n", "tests/mutants/1.mutant": mutant},
                    "tests/mutants/1.mutant:4: 'int a;' is found 0 times")
        self.expect("mutants", {"plugin/x.cc": "int a;\n", "tests/mutants/1.patch": ""},
                    "tests/mutants/1.patch:1: is a patch")

    def test_sizes(self):
        body = "  step();\n" * (rules.FUNCTION_LINES_MAX - 1)
        self.expect("sizes", {"a.cc": "void f() {\n" + body + "}\n"}, "a.cc:1: f has 76 lines")
        self.expect("sizes", {"a.cc": "void f() {\n" + body[10:] + "}\n"})
        self.expect("sizes", {"a.cc": "namespace a {\n" + "int x;\n" * 200 + "}\n"})
        self.expect("sizes", {"a.cc": "\n" * (rules.FILE_LINES_MAX + 1)}, "a.cc:1: 451 lines")
        self.expect("sizes", {"tests/a.cc": "\n" * (rules.FILE_LINES_MAX + 1)})
        self.expect("sizes", {"tests/a.cc": "\n" * (rules.TEST_FILE_LINES_MAX + 1)}, "tests/a.cc:1: 551 lines")
        python = "#!/usr/bin/env python3\ndef f():\n" + "    x = 1\n" * 101
        self.expect("sizes", {"tool": python}, "tool:2: f has 102 lines")

    def test_folders(self):
        headers = lambda folder, count: {f"{folder}/a{n}.h": "" for n in range(count)}
        self.expect("folders", headers("plugin/engine/api", rules.FOLDER_HEADERS_MAX + 1),
                    "plugin/engine/api:1: 15 headers")
        self.expect("folders", {**headers("plugin/engine/api", rules.FOLDER_HEADERS_MAX), **headers("plugin/base", 40),
                                **headers("collectives/schedule/algorithms", 40)})

    def test_finds_functions(self):
        text = """
namespace a {
struct alignas(64) Ring {
  Ring() : a_{1}, b_(2) {
    f([] { return 1; });
  }
  template <class T>
  bool push(T&& value) const {
    if (value) { return true; }
    return "}{";  // }
  }
  int count = 0;
};
Result<int> free_function(int n) {
  struct Local { int x; };
  return n;
}
constexpr int kTable[] = {1, 2, 3};
#define MACRO(x) do { x; \\
  } while (0)
TEST(Suite, Name) {
}
}  // namespace a
"""
        found = list(cxx.functions(text))
        self.assertEqual(found, [("Ring", 4, 3), ("push", 7, 5), ("free_function", 14, 4), ("TEST", 21, 2)])

    def test_headers_compile_alone(self):
        files = {"include/good.h": "#pragma once\n#include <string>\nstruct A { std::string s; };\n",
                 "include/bad.h": "#pragma once\nstruct B { std::string s; };\n",
                 "include/twice.h": "struct C {};\n"}
        with Tree(files) as root:
            commands = root / "compile_commands.json"
            commands.write_text(json.dumps([{"command": f"c++ -I{root}/include -isystem /usr/include/x -c a.cc"}]))
            self.assertEqual(headers.include_flags(commands), [f"-I{root}/include", "-isystem", "/usr/include/x"])
            found = list(headers.check(root, list(files), commands))
        self.assertEqual([f.split(":")[0] for f in found], ["include/bad.h", "include/twice.h"])

    def test_lines_have_at_most_120_columns(self):
        fits, long = "x" * 120 + "\n", "x" * 121 + "\n"
        self.expect("columns", {"a.cc": fits + long, "a.md": long, "b.py": long, "tool": "#!/bin/sh\n" + long},
                    "a.cc:2: 121 columns", "b.py:1: 121 columns", "tool:2: 121 columns")
        self.expect("columns", {"a.h": "// " + "→" * 117 + "\n"})

    def test_sources_are_utf8_and_end_lines_with_line_feeds(self):
        self.expect("columns", {"a.cc": "int a;\n\r\n", "a.md": "a\r\n"}, "a.cc:2: a carriage return")
        self.assertEqual(["a.cc:2: not UTF-8"], list(layout.bad_bytes("a.cc", b"//\n// Caf\xe9\n")))

    def test_a_clang_format_that_fails_is_a_finding(self):
        self.expect("format", {".clang-format": "NoSuchOption: 1\n", "a.cc": "int f();\n"},
                    ".clang-format:1: clang-format-14 failed: ")

    def test_cxx_is_as_clang_format_writes_it(self):
        style = (Path(__file__).resolve().parents[2] / ".clang-format").read_text()
        self.expect("format", {".clang-format": style, "a.cc": "int f();\nint  g();\nint  h();\n", "b.h": "int* p;\n"},
                    "a.cc:2: clang-format-14 writes this otherwise")

    def test_tests_have_one_kind_of_name(self):
        fine = "TEST(Ring, push__fails_when_full) {\nTEST_F(RingTest, 64_KiB_fit) {"
        self.expect("test_names", {"tests/unit/a.cc": fine, "plugin/a.cc": "TEST(A, B)\n"})
        self.expect("test_names", {"tests/a.cc": "TEST(Ring, PushFails) {\nTEST_P(ring, a__b__c) {\n"},
                    "tests/a.cc:1: Ring.PushFails: write TEST", "tests/a.cc:2: ring.a__b__c: write TEST")
        self.expect("test_names", {"tests/a.h": "TEST(Ring, PushFails) {\n"}, "tests/a.h:1: Ring.PushFails: write TEST")
        self.expect("test_names", {"tests/a.cc": "TEST(A,\n     " + "a" * 61 + ") {\n",
                                   "tests/b.py": "    def test_" + "b" * 56 + "(self):\n"},
                    "tests/a.cc:2: aaaa", "tests/b.py:1: test_bbbb")

    def test_sentences_of_running_text(self):
        long = "One " + "word " * 40 + "more.\n"
        fitting = "A short sentence stands here. " * 4 + "One " + "word " * 38 + "more.\n"
        self.expect("prose", {"README.md": "Short words.\n" * 4 + long}, "README.md:1: a sentence of 42 words")
        self.expect("prose", {"docs/a.md": fitting, "docs/decisions/0001-a.md": long, "tests/a.md": long})
        unchecked = "\n- " + long + "  " + long + "\n```\n" + long + "```\n\n    " + long
        self.expect("prose", {"docs/a.md": "# Head\n\n| " + long + unchecked})
        self.expect("prose", {"docs/a.md": "Twenty one words " + "stand " * 17 + "here.\n"},
                    "docs/a.md:1: 21.0 words a sentence")
        linked = "See [" + "a " * 32 + "](b.md) and `" + "c " * 30 + "`. It waits 0.3 s, e.g. Here.\n"
        self.expect("prose", {"docs/a.md": linked},
                    "docs/a.md:1: 20.5 words")

    def test_comments_begin_with_their_subject(self):
        self.expect("prose", {"a.h": "// Of each lane.\n// That is all.\nint x;  // Whoever asks\nint y;  // of each "
                                     "lane\n"},
                    'a.h:1: a comment begins with "of"', 'a.h:3: a comment begins with "whoever"')
        self.expect("prose", {"a.h": "  // of each lane\n"}, 'a.h:1: a comment begins with "of"')
        self.expect("prose", {"a.h": "int x;  // the bytes\n        // of each lane\n  // such\n"},
                    'a.h:3: a comment begins with "such"')
        self.expect("prose", {"a.py": '# Likewise.\nx = "# That"\n'}, 'a.py:1: a comment begins with "likewise"')
        self.expect("prose", {"a.h": "// Offers.\n// of\nauto s = \"// Of\";\n", "a.md": "That.\n"})

    def test_docstrings_and_scripts_begin_with_their_subject(self):
        self.expect("prose", {"a.py": '"""A page."""\ndef f():\n    """Who asks."""\nclass A:\n    """\n    It."""\n'},
                    'a.py:3: a comment begins with "who"', 'a.py:5: a comment begins with "it"')
        self.expect("prose", {"Makefile": "a:  # Those\n", "CMakeLists.txt": "# Such\n", "a.pyi": "# They\n",
                              "tool": "#!/bin/sh\n\n# Of it.\n"},
                    'CMakeLists.txt:1: a comment begins with "such"', 'Makefile:1: a comment begins with "those"',
                    'a.pyi:1: a comment begins with "they"', 'tool:3: a comment begins with "of"')

    def test_old_names_do_not_come_back(self):
        self.expect("renamed", {"plugin/engine/a.cc": "RecallOut r;\nRecall x;\n"},
                    "plugin/engine/a.cc:2: 'Recall' is called SlowLaneDetector")
        self.expect("renamed", {"docs/decisions/0001-a.md": "Knock\n", "a.cc": "int recall;\n", "b.md": "A door.\n"})

    def test_old_words_do_not_come_back_in_longer_identifiers(self):
        for name, line in (("a.cc", "int door_of(int);"), ("a.h", "struct OpenTickets;"), ("a.py", "_DOOR = 1"),
                           ("Makefile", "upkeep: all"), ("CMakeLists.txt", "set(errands 1)"), ("a.pyi", "knocks: int")):
            with self.subTest(name):
                self.expect("renamed", {name: f"{line}\n"}, f"{name}:1: '")
        self.expect("renamed", {"a.cc": "SSL_CTX_set_num_tickets(c, 0);\nint indoors, doorway, ticketed;\n"})

    def test_generated_page(self):
        with Tree({"page.md": "old\n", "program": "#!/bin/sh\necho new\n"}) as root:
            (root / "program").chmod(0o755)
            self.assertEqual(len(list(check.check_generated(root, "page.md", str(root / "program")))), 1)
            (root / "page.md").write_text("new\n")
            self.assertEqual(list(check.check_generated(root, "page.md", str(root / "program"))), [])


if __name__ == "__main__":
    unittest.main()
