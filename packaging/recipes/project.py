"""What packages say of the project: version, date, home page, and the metadata of wheels."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from recipes import commands, places

AUTHOR = "Railweave"
_HTTPS = re.compile(r"https://[\w.-]+/[\w./-]+")
_CONSOLE_SCRIPTS = {"railweave-net-perf": "railweave.__main__:net_perf"}  # beside pyproject.toml's


def pyproject() -> dict[str, Any]:
    return tomllib.loads((places.ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def version() -> str:
    return pyproject()["project"]["version"]


def commit() -> str:
    """Returns the short name of the commit, with `+` behind if files differ from the commit."""
    short = commands.output_of(["git", "rev-parse", "--short", "HEAD"]).strip()
    return short + ("+" if commands.output_of(["git", "status", "--porcelain"]).strip() else "")


def commit_time() -> int:
    """Seconds since 1970: the time of every file in a package, so that equal commits give equal packages."""
    return int(commands.output_of(["git", "log", "-1", "--format=%ct"]))


def urls(remote: str) -> dict[str, str]:
    """Returns the pages of the project for a clone's remote; none for a remote that is no web page."""
    page = remote.strip().removesuffix(".git")
    if not _HTTPS.fullmatch(page):
        return {}
    return {"Homepage": page, "Documentation": f"{page}/tree/main/docs", "Issues": f"{page}/issues",
            "Changelog": f"{page}/blob/main/CHANGELOG.md"}


def wheel_of_railweave(given: dict[str, Any], remote: str) -> dict[str, Any]:
    """Returns the table [project] of the wheel `railweave`, out of pyproject.toml's. The wheel needs no torch: its
    extra `torch` brings the extension."""
    project = dict(given["project"])
    project.pop("dynamic", None)
    project["dependencies"] = []
    project["optional-dependencies"] = {"torch": [f"railweave-torch=={project['version']}"]}
    project["scripts"] = {**project.get("scripts", {}), **_CONSOLE_SCRIPTS}
    project["urls"] = {**project.get("urls", {}), **urls(remote)}
    return {**given, "project": project}


def wheel_of_extension(given: dict[str, Any], remote: str, torch_minor: str, python: str) -> dict[str, Any]:
    """Returns the table [project] of the wheel `railweave-torch`. `torch_minor`: such as 2.13. `python`: such as 3.11,
    the only version that the extension is compiled for."""
    shared = ("version", "readme", "license", "license-files", "authors", "classifiers", "keywords", "urls")
    project = {name: value for name, value in given["project"].items() if name in shared}
    project["name"] = "railweave-torch"
    project["description"] = f"The extension of railweave for torch {torch_minor}"
    project["requires-python"] = f"=={python}.*"
    project["dependencies"] = [f"torch=={torch_minor}.*", f"railweave=={project['version']}",
                               "numpy"]  # torch's collectives of objects use NumPy, and do not bring it
    project["urls"] = {**project.get("urls", {}), **urls(remote)}
    return {"project": project}


def torch_minor(built_for: str) -> str:
    """Returns `2.13` for the text of _built_for.py. Errors: ValueError."""
    found = re.search(r'TORCH_VERSION = "(\d+\.\d+)\.', built_for)
    if not found:
        raise ValueError(f"_built_for.py: found {built_for!r}, expected TORCH_VERSION")
    return found[1]


def remote() -> str:
    """Returns the address that this clone came from; empty if there is none."""
    try:
        return commands.output_of(["git", "remote", "get-url", "origin"]).strip()
    except commands.CommandFailed:
        return ""
