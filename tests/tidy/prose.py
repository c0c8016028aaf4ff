"""Checks the running text of pages, and the first words of comments and docstrings, against the bounds of rules.py."""

import ast
import re

FENCE = re.compile(r"^\s*(```|~~~)")
NO_TEXT = re.compile(r"^\s*(\||#|<|!\[|>\s*\||\[[^\]]+\]:)")  # tables, headings, markup, pictures, link targets
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"`[^`]*`")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"”*_]*\s+(?=[A-Z0-9`\[(\"“*_])")
NOT_AN_END = re.compile(r"\b(e\.g|i\.e|cf|etc|vs|No|Fig|Sec)\.$")


def paragraphs(text):
    """Yields (line, text) of each paragraph of a page, without code, tables, headings or lists."""
    lines, start, fenced, listed = [], 0, False, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if FENCE.match(line):
            fenced = not fenced
        indented = line.startswith(("    ", "\t"))
        blank = not line.strip()
        item = LIST_ITEM.match(line)
        ends = fenced or blank or item or FENCE.match(line) or NO_TEXT.match(line) or (indented and not lines)
        if ends:
            if lines:
                yield start, " ".join(lines)
            lines = []
            listed = bool(item) or (listed and not blank)
            continue
        if listed:
            continue  # continuation of a list item
        if not lines:
            start = number
        lines.append(line.strip())


def sentences(paragraph):
    """Yields the sentences of a paragraph, each a list of words. A piece of code is one word."""
    plain = CODE.sub("code", LINK.sub(r"\1", paragraph)).replace("**", "").replace("*", "")
    pieces, held = SENTENCE_END.split(plain), ""
    for piece in pieces:
        held = f"{held} {piece}".strip()
        if NOT_AN_END.search(held):
            continue
        words = [word for word in held.split() if re.search(r"\w", word)]
        if words:
            yield words
        held = ""
    if held:
        yield held.split()


def page_findings(name, text, longest, mean_most):
    """Yields the sentences of a page that are too long, and a mean that is too high."""
    lengths = []
    for line, paragraph in paragraphs(text):
        for words in sentences(paragraph):
            lengths.append(len(words))
            if len(words) > longest:
                begins = " ".join(words[:8])
                yield f"{name}:{line}: a sentence of {len(words)} words, at most {longest}: \"{begins} ...\"; split it"
    if lengths and (mean := sum(lengths) / len(lengths)) > mean_most:
        yield f"{name}:1: {mean:.1f} words a sentence, at most {mean_most}; one fact a sentence"


def comments(text, mark):
    """Yields (line, first word in lower case) of each block of comments, and of each comment behind code whose first
    letter is a capital."""
    column = None  # of the comment in the line above: a comment at the same column continues it
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith(mark):
            begins = column != line.index(mark)
            column = line.index(mark)
            if begins and (found := re.match(re.escape(mark) + r"+\s*(\w+)", bare)):
                yield number, found[1].lower()
            continue
        found = re.search(r"(?<=[\s;{},)])" + re.escape(mark) + r"\s+(\w+)", line)
        column = found.start() if found else None
        if found and found[1][0].isupper() and line.count('"', 0, found.start()) % 2 == 0:
            yield number, found[1].lower()


def docstrings(text):
    """Yields (line, first word in lower case) of each docstring of a Python module."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if found := re.match(r"\W*(\w+)", ast.get_docstring(node) or ""):
            yield node.body[0].lineno, found[1].lower()


def comment_findings(name, first_words, banned):
    """Yields a finding for each (line, first word) whose word is banned."""
    for line, word in first_words:
        if word in banned:
            yield f"{name}:{line}: a comment begins with \"{word}\"; begin with its subject"
