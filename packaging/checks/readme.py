"""The commands of README.md, as its reader copies them."""

from __future__ import annotations

import re

from recipes import places


def section(page: str, title: str) -> str:
    """Returns the text below a heading of the second level. Errors: ValueError, if the page has no such heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    if not found:
        raise ValueError(f"README.md: expected the section '## {title}'")
    return found[1]


def exports(text: str) -> list[str]:
    """Returns the indented lines that begin with `export NCCL_`, without their comments."""
    return [line.split("#")[0].strip() for line in re.findall(r"^    (export NCCL_.*)$", text, re.M)]


def python_block(text: str) -> str:
    """Returns the first block of Python. Errors: ValueError."""
    found = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    if not found:
        raise ValueError("README.md: expected a block of Python")
    return found[1]


def nccl_exports() -> list[str]:
    """Errors: ValueError, if the section has no line of that form."""
    found = exports(section(_page(), "With NCCL"))
    if not any("$(railweave path)" in line for line in found):
        raise ValueError("README.md, With NCCL: expected a line 'export NCCL_NET_PLUGIN=$(railweave path)'")
    return found


def training_script() -> str:
    return python_block(section(_page(), "With torch"))


def _page() -> str:
    return (places.ROOT / "README.md").read_text(encoding="utf-8")
