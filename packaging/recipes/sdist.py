"""Makes the source distribution out of the committed files."""

from __future__ import annotations

import shutil
from pathlib import Path

from recipes import commands, places, project

_BUILD = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"


def write() -> Path:
    """Returns the file in build/dist. Errors: CommandFailed."""
    folder = places.WORK / "sdist"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = places.WORK / "sdist.tar"
    commands.run("exporting the sources", ["git", "archive", "--output", archive, "HEAD"])
    commands.run("unpacking the sources", ["tar", "--extract", f"--file={archive}", f"--directory={folder}"])
    archive.unlink()
    commands.run("making the sdist", [places.ROOT / ".venv" / "bin" / "python", "-c", _BUILD, places.OUT], cwd=folder,
                 settings={"SOURCE_DATE_EPOCH": str(project.commit_time())})
    shutil.rmtree(folder)
    return places.OUT / f"railweave-{project.version()}.tar.gz"
