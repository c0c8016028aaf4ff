"""The edits of a mutant: text to remove, wherever in the tree, and its replacement. tests/mutants/run shows the form.

The old text must be in the files under SEARCHED exactly once, as whole lines or part of one. White space in it matches
any white space of the tree, so indentation and line breaks do not matter. The new text begins where the old text began.
Further lines of the new text get the indentation of the line in which the old text begins, plus their own in the
mutant's file. If the replacement is empty, lines with nothing but the old text disappear. All edits are searched for in
the unchanged tree."""

import re
from dataclasses import dataclass
from pathlib import Path

SEARCHED = ["plugin", "include", "collectives", "torch_ext", "tests/sim"]
EDIT = re.compile(r"^<<<< remove\n(.*?)^==== put\n(.*?)^>>>>$", re.M | re.S)
DELIMITER = re.compile(r"^(<<<< remove|==== put|>>>>)$", re.M)


class EditError(Exception):
    """A mutant cannot be applied. The message begins with NAME.mutant:LINE and has the error and the remedy."""


@dataclass(frozen=True)
class Edit:
    line: int  # number of the line `<<<< remove`, from 1
    removed: str
    put: str


@dataclass(frozen=True)
class Mutant:
    path: Path
    pitfall: str
    program: str  # the two words of the line `Test:`
    filter: str
    edits: list


def parse(path):
    """Returns the mutant that the file describes. Raises EditError if the file has another form."""
    text = path.read_text()
    pitfall, test = re.search(r"^Pitfall: (.+)$", text, re.M), re.search(r"^Test: (\S+) (\S+)$", text, re.M)
    if not pitfall or not test:
        raise EditError(f"{path.name}:1: lacks a line `Pitfall: TEXT` or `Test: PROGRAM FILTER`; "
                        "write both above the edits")
    edits, end = [], None
    for match in EDIT.finditer(text):
        between = text[end:match.start()] if end else ""
        edit = Edit(text.count("\n", 0, match.start()) + 1, match[1].strip("\n"), match[2].strip("\n"))
        if between.strip() or DELIMITER.search(edit.removed) or DELIMITER.search(edit.put):
            raise EditError(f"{path.name}:{edit.line}: an edit is `<<<< remove`, `==== put` and `>>>>`, each a line; "
                            "mend this edit or the one above")
        if edit.removed.split() == edit.put.split():
            raise EditError(f"{path.name}:{edit.line}: puts the text that it removes; name a new text, "
                            "or drop the edit")
        if not edit.removed.strip():
            raise EditError(f"{path.name}:{edit.line}: removes nothing; to add text, "
                            "remove what stands beside it and put both")
        edits.append(edit)
        end = match.end()
    if not edits or text[end:].strip():
        raise EditError(f"{path.name}:1: lacks an edit, or its last one is not whole; write `<<<< remove`, "
                        "`==== put` and `>>>>`, each a line")
    return Mutant(path, pitfall[1], *test.groups(), edits)


def read_tree(root):
    """Returns the text of each file under SEARCHED, by its path from the root."""
    texts = {}
    for path in sorted(p for folder in SEARCHED for p in (root / folder).rglob("*") if p.is_file()):
        try:
            texts[str(path.relative_to(root))] = path.read_bytes().decode()
        except UnicodeDecodeError:
            continue  # a picture, or a file compiled by Python
    return texts


def find(edit, texts):
    """Returns the places of the old text: (path, first, end)."""
    pattern = re.compile(r"\s+".join(map(re.escape, edit.removed.split())))
    return [(name, *match.span()) for name, text in texts.items() for match in pattern.finditer(text)]


def find_once(mutant, edit, texts):
    places = find(edit, texts)
    if len(places) == 1:
        return places[0]
    where = ", ".join(f"{name}:{texts[name].count(chr(10), 0, first) + 1}" for name, first, _ in places)
    advice = (f"({where}); remove more of the text, until one place is left" if places else
              f"(searched: {', '.join(SEARCHED)}); look what the sources say now, and remove that")
    raise EditError(f"{mutant.path.name}:{edit.line}: '{edit.removed.strip().splitlines()[0]}' is found {len(places)} "
                    f"times {advice}")


def indentation(line):
    return len(line) - len(line.lstrip())


def replacement(text, first, end, edit):
    """Returns (first, end, new): the range to replace and its new text, for the old text at [first, end)."""
    line_first = text.rfind("\n", 0, first) + 1
    line_end = (text.find("\n", end) + 1 or len(text) + 1) - 1
    if not edit.put.strip() and not (text[line_first:first] + text[end:line_end]).strip():
        return line_first, line_end + 1, ""
    lines = edit.put.splitlines() or [""]
    shift = indentation(text[line_first:line_end]) - indentation(lines[0])
    further = [" " * (shift + indentation(line)) + line.lstrip() if line.strip() else "" for line in lines[1:]]
    return first, end, "\n".join([lines[0].lstrip(), *further])


def mutate(mutant, texts):
    """Returns the new text of changed files only, by path. Raises EditError unless the tree has each old text once, or
    if two edits overlap."""
    replacements = {}
    for edit in mutant.edits:
        name, first, end = find_once(mutant, edit, texts)
        replacements.setdefault(name, []).append((*replacement(texts[name], first, end, edit), edit.line))
    changed = {}
    for name, here in replacements.items():
        text, begin = texts[name], len(texts[name]) + 1
        for first, end, new, line in sorted(here, reverse=True):
            if end > begin:
                raise EditError(f"{mutant.path.name}:{line}: overlaps another edit in {name}; make them one")
            text, begin = text[:first] + new + text[end:], first
        changed[name] = text
    return changed


def write(root, texts):
    for name, text in texts.items():
        (root / name).write_bytes(text.encode())


def apply(root, mutant):
    """Changes the tree. Returns the argument of undo(). Raises EditError; then nothing is changed."""
    texts = read_tree(root)
    changed = mutate(mutant, texts)
    write(root, changed)
    return {name: texts[name] for name in changed}


def undo(root, applied):
    """Gives the changed files the bytes that they had before apply()."""
    write(root, applied)


def problems(root, paths):
    """Yields a line for each mutant that does not apply to the tree."""
    texts = read_tree(root)
    for path in paths:
        try:
            mutate(parse(path), texts)
        except EditError as error:
            yield str(error)
