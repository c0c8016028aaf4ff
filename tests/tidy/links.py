"""Links of pages to files and headings that do not exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Iterator

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`|^(?: {4}|\t).*?$", re.M | re.S)
_HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.M)


def page_findings(page: Path, name: str) -> Iterator[str]:
    """Yields a finding for each link of `page` whose file or heading is missing. `name`: the page's, for findings."""
    text = page.read_text(encoding="utf-8")
    hidden = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)  # keeps positions of what remains
    for link in _LINK.finditer(hidden):
        target, _, heading = link[1].partition("#")
        if _ELSEWHERE.match(link[1]):
            continue
        to = page.parent / target if target else page
        where = f"{name}:{text.count(chr(10), 0, link.start()) + 1}"
        if not to.exists():
            yield f"{where}: a link to {target}, which does not exist"
        elif heading and to.suffix == ".md" and heading not in headings(to.read_text(encoding="utf-8")):
            yield f"{where}: a link to the heading #{heading} of {to.name}, which has none"


def headings(text: str) -> set[str]:
    """Returns the names by which links reach the headings of a page: GitHub's, where the second of two equal ones ends
    with -1."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in _HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found
