#!/usr/bin/env python3
"""Holds the sources to rules.py. Each finding says file:line, what is wrong and what to do."""

import argparse
import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import cxx
import headers
import layout
import links
import prose
import rules

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from mutants import edits  # noqa: E402
from runkit.sources import source_files  # noqa: E402

TEST_MACRO = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
PYTHON_TEST = re.compile(r"^\s*(?:async )?def (test_\w+)", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CXX_CLASS = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:class|struct)\s+(?:(?:alignas|RW_\w+)(?:\([^)]*\))?\s+)?(\w+)",
                       re.M)
PYTHON_CLASS = re.compile(r"^\s*class (\w+)", re.M)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of an identifier in snake_case or CamelCase


def text_of(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""  # a picture, say; check_encoding refuses sources that are not UTF-8


def is_cxx(name):
    return name.endswith((".h", ".cc"))


def is_python(root, name):
    if name.endswith((".py", ".pyi")):
        return True
    return "." not in Path(name).name and re.match(r"#!.*python", text_of(root / name)[:80])


def is_shell(root, name):
    if name.endswith(".sh"):
        return True
    return "." not in Path(name).name and re.match(r"#!.*\b(ba)?sh\b", text_of(root / name)[:80])


def is_build_file(name):
    return Path(name).name in ("CMakeLists.txt", "Makefile") or name.endswith(".cmake")


def is_code(root, name):
    return is_cxx(name) or is_build_file(name) or is_python(root, name) or is_shell(root, name)


def layer_of(name):
    parts = Path(name).parts
    if parts[0] == "include":
        return "railweave"
    if parts[0] in ("collectives", "torch_ext"):
        return parts[0]
    return parts[1] if parts[0] == "plugin" and len(parts) > 2 else None


def check_layers(root):
    for name in filter(is_cxx, source_files(root)):
        layer = layer_of(name)
        if layer is None:
            continue
        if layer not in rules.LAYERS:
            yield f"{name}:1: plugin/{layer} is no layer that tests/tidy/rules.py knows; add it to LAYERS"
            continue
        allowed = [layer, *rules.LAYERS[layer]]
        for number, line in enumerate(text_of(root / name).splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            first = (match[1] or match[2]).split("/")[0]
            ours = match[1] or first in rules.LAYERS  # <...> names other libraries too
            if ours and first not in allowed:
                yield (f"{name}:{number}: {layer} may include {', '.join(allowed)} and not \"{match[1] or match[2]}\"; "
                       "let the inner layer define what it needs, or move the code outward")


def check_patterns(root):
    compiled = [(p, *map(re.compile, (p.pattern, p.where, p.unless))) for p in rules.PATTERNS]
    here = str(root)
    for name in source_files(root):
        text = text_of(root / name)
        lines = text.splitlines()
        code = cxx.without_comments_and_strings(text).splitlines() if is_cxx(name) else lines
        for number, line in enumerate(lines, 1):
            if here in line and len(here) > 1:
                yield f"{name}:{number}: names this machine's path {here}; write paths from the repository's root"
            for rule, pattern, where, unless in compiled:
                if not where.match(name) or unless.match(name):
                    continue
                # Preprocessor lines keep their strings: an include's name is one.
                subject = line if rule.in_comments or line.lstrip().startswith("#") else code[number - 1]
                if found := pattern.search(subject):
                    yield f"{name}:{number}: '{found[0].strip()}': {rule.instead}"


def check_names(root):
    banned = re.compile(r"(?:^|[_\-.])(" + "|".join(rules.BANNED_WORDS_IN_NAMES) + r")(?:$|[_\-.])")
    for name in source_files(root):
        for part in Path(name).parts:
            if found := banned.search(part.lower()):
                yield f"{name}:1: '{found[1]}' says nothing; name the file after the one thing it does"
        if is_cxx(name) and not rules.CXX_FILE_NAME.fullmatch(Path(name).name):
            yield f"{name}:1: C++ files are named in snake_case.h or snake_case.cc"
        yield from class_names(root, name)


def class_names(root, name):
    """Yields classes whose name has a word without meaning."""
    pattern = CXX_CLASS if is_cxx(name) else PYTHON_CLASS if is_python(root, name) else None
    text = text_of(root / name) if pattern else ""
    for found in pattern.finditer(text) if pattern else ():
        for word in WORD.findall(found[1]):
            if word.lower() in rules.BANNED_WORDS_IN_NAMES:
                line = text.count("\n", 0, found.start(1)) + 1
                yield f"{name}:{line}: '{word}' of {found[1]} says nothing; name the class after the one thing it does"


def python_functions(text, name):
    for node in ast.walk(ast.parse(text, name)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_sizes(root):
    for name in source_files(root):
        python = is_python(root, name)
        if not is_cxx(name) and not python:
            continue
        text = text_of(root / name)
        lines = text.count("\n")
        most = rules.TEST_FILE_LINES_MAX if name.startswith("tests/") else rules.FILE_LINES_MAX
        if lines > most:
            yield f"{name}:1: {lines} lines, at most {most}; one mechanism per file: split it"
        for function, line, length in python_functions(text, name) if python else cxx.functions(text):
            if length > rules.FUNCTION_LINES_MAX:
                yield (f"{name}:{line}: {function} has {length} lines, at most {rules.FUNCTION_LINES_MAX}; "
                       "give its steps names of their own")


def check_folders(root):
    """Finds folders with too many headers for a reader."""
    bounded, unless = re.compile(rules.FOLDERS), re.compile(rules.FOLDERS_UNLESS)
    headers_of = Counter(str(Path(name).parent) for name in source_files(root) if name.endswith(".h"))
    for folder, count in sorted(headers_of.items()):
        if count > rules.FOLDER_HEADERS_MAX and bounded.fullmatch(folder) and not unless.fullmatch(folder):
            yield (f"{folder}:1: {count} headers, at most {rules.FOLDER_HEADERS_MAX}; "
                   "give one of its questions a folder of its own")


def check_columns(root):
    for name in source_files(root):
        if is_cxx(name) or is_python(root, name) or is_shell(root, name):
            yield from layout.bad_bytes(name, (root / name).read_bytes())
            yield from layout.long_lines(name, text_of(root / name), rules.COLUMNS_MAX)


def check_format(root):
    yield from layout.unformatted(root, list(filter(is_cxx, source_files(root))))


def check_test_names(root):
    for name in source_files(root):
        if not name.startswith("tests/") or not (is_cxx(name) or is_python(root, name)):
            continue
        text = text_of(root / name)
        for found in (TEST_MACRO if is_cxx(name) else PYTHON_TEST).finditer(text):
            suite, test = found.groups() if is_cxx(name) else ("Test", found[1])
            line = text.count("\n", 0, found.start(found.lastindex)) + 1
            if len(test) > rules.TEST_NAME_CHARACTERS_MAX:
                yield f"{name}:{line}: {test} has {len(test)} characters, at most {rules.TEST_NAME_CHARACTERS_MAX}"
            if not rules.TEST_NAME.fullmatch(test) or not rules.TEST_SUITE_NAME.fullmatch(suite):
                yield f"{name}:{line}: {suite}.{test}: write TEST(Subject, what_holds) or function__what_holds"


def check_generated(root, page, program):
    printed = subprocess.run([program], capture_output=True, text=True, cwd=root)
    if printed.returncode:
        yield f"{page}:1: its program failed: {printed.stderr.strip()}"
    elif text_of(root / page) != printed.stdout:
        yield f"{page}:1: differs from what its program prints; run: {Path(program).name} > {page}"


def check_mutants(root):
    folder = root / "tests" / "mutants"
    for problem in edits.problems(root, sorted(folder.glob("*.mutant"))):
        yield f"tests/mutants/{problem}"
    for patch in sorted(folder.glob("*.patch")):
        yield (f"tests/mutants/{patch.name}:1: is a patch, and nothing runs it; "
               "write edits in a file .mutant (tests/mutants/run --help)")


def check_prose(root):
    """Checks pages' running text, and the first words of comments and docstrings."""
    page = re.compile(rules.PROSE_PAGES)
    for name in source_files(root):
        if page.match(name):
            yield from prose.page_findings(name, text_of(root / name), rules.SENTENCE_WORDS_MAX,
                                           rules.SENTENCE_WORDS_MEAN_MAX)
        elif is_code(root, name):
            text = text_of(root / name)
            comments = prose.comments(text, "//" if is_cxx(name) else "#")
            docstrings = prose.docstrings(text) if is_python(root, name) else ()
            yield from prose.comment_findings(name, [*comments, *docstrings], rules.COMMENT_BEGINNINGS_BANNED)


def check_links(root):
    """Checks the relative links of pages: their files and headings must exist."""
    for name in source_files(root):
        if name.endswith(".md"):
            yield from links.page_findings(root / name, name)


def check_renamed(root):
    """Finds old identifiers that were replaced by the field's word, and words that no identifier has any more."""
    old = re.compile(r"\b(" + "|".join(rules.RENAMED) + r")\b")
    for name in source_files(root):
        code = is_code(root, name)
        if name.startswith(rules.RENAMED_UNLESS) or not (code or name.endswith((".md", ".mutant"))):
            continue
        for number, line in enumerate(text_of(root / name).splitlines(), 1):
            if found := old.search(line):
                yield f"{name}:{number}: '{found[1]}' is called {rules.RENAMED[found[1]]} (docs/glossary.md)"
            elif code and (word := old_word(line)):
                yield (f"{name}:{number}: '{word}' is a word of the first edition; "
                       f"write {rules.OLD_WORDS[word]} (docs/glossary.md)")


def old_word(line):
    """Returns the first of the old words in the line's identifiers, in the singular; None: there is none."""
    for identifier in IDENTIFIER.findall(line):
        for word in WORD.findall(identifier):
            word = word.lower().removesuffix("s")
            if word in rules.OLD_WORDS and not identifier.startswith(rules.OLD_WORDS_OF_OTHERS):
                return word
    return None


CHECKS = {"layers": check_layers, "folders": check_folders, "prose": check_prose, "renamed": check_renamed,
          "patterns": check_patterns, "names": check_names, "sizes": check_sizes, "mutants": check_mutants,
          "columns": check_columns, "format": check_format, "test_names": check_test_names, "links": check_links}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at")
    commands = parser.add_subparsers(dest="check", required=True)
    for name in CHECKS:
        commands.add_parser(name)
    alone = commands.add_parser("headers", help="headers compile alone: all of tests/, and those that no source of "
                                                "their own name includes first (builds of suite clang-all compile "
                                                "each such source by itself)")
    alone.add_argument("--compile-commands", type=Path, required=True)
    generated = commands.add_parser("generated", help="a page is what its program prints")
    generated.add_argument("page")
    generated.add_argument("program")
    args = parser.parse_args()
    if args.check == "headers":
        # Not every build has torch. The torch build's test torch_thread_safety compiles the headers of torch_ext.
        names = [n for n in source_files(args.root) if n.endswith(".h") and not n.startswith("torch_ext/")]
        findings = headers.check(args.root, names, args.compile_commands)
    elif args.check == "generated":
        findings = check_generated(args.root, args.page, args.program)
    else:
        findings = CHECKS[args.check](args.root)
    findings = list(findings)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
