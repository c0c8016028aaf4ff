"""Parses just enough of C++ to find its code and the beginning and end of its functions."""

import re

# Raw strings, strings, characters (but not digit separators), comments.
_NOT_CODE = re.compile(
    r'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*"
    r"|/\*.*?\*/", re.DOTALL)


def without_comments_and_strings(text):
    """Returns the same lines with empty strings and blank comments."""

    def blank(match):
        found = match[0]
        return ("" if found[0] == "/" else '""') + "\n" * found.count("\n")

    return _NOT_CODE.sub(blank, text)


_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum)\b|\bextern\s*\"\"")


def _without_templates(head):
    """Returns `head` without `template <...>`, whose `class` would look like a class."""
    while match := re.search(r"\btemplate\s*<", head):
        depth, end = 1, match.end()
        while depth and end < len(head):
            depth += {"<": 1, ">": -1}.get(head[end], 0)
            end += 1
        head = head[: match.start()] + head[end:]
    return head


def _kind(head):
    head = _without_templates(head)
    before_call = head.split("(")[0]
    if "(" in head and not (_SCOPE.search(before_call) and not re.search(r"\w\s*$", before_call)):
        # `struct alignas(64) Ring` is a scope despite its parenthesis.
        if not re.match(r"\s*(class|struct|union)\s+(alignas|RW_\w+|\[\[)", head):
            return "function"
    return "scope" if _SCOPE.search(head) else "other"


def functions(text):
    """Yields (name, line, lines) of each function with a body. Lambdas and local classes count to their function."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m[0].count("\n"),
                  without_comments_and_strings(text), flags=re.MULTILINE)
    open_braces, head, head_line, line, inside = [], "", 1, 1, 0
    for at, char in enumerate(code):
        if char == "{":
            kind = "other" if inside else _kind(head)
            open_braces.append((kind, head, head_line))
            inside += kind == "function" or inside > 0
            if not inside:
                head = ""
        elif char == "}" and open_braces:
            kind, its_head, its_line = open_braces.pop()
            if inside:
                inside -= 1
            goes_on = kind != "scope" and re.match(r"\s*[,{)]", code[at + 1 : at + 80])
            if kind == "function" and not goes_on:
                yield _name(its_head), its_line, line - its_line + 1
            if not inside:
                head, head_line = (its_head, its_line) if goes_on else ("", line)
        elif char == ";" and not inside:
            head = ""
        elif not inside:
            if not head.strip() and not char.isspace():
                head, head_line = "", line
            head += char
        line += char == "\n"


def _name(head):
    match = re.search(r"([\w:~]+|operator\W+)\s*\(", _without_templates(head))
    return match[1] if match else "a function"
