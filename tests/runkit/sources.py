"""The files of the source tree, as git lists them; without git or a repository, as the folder has them."""

import subprocess
from pathlib import Path

LEFT_OUT = {"build", ".venv", ".git", "__pycache__"}  # folders that git would ignore


def git(root, *arguments):
    """Returns what git prints; None without git, outside a repository and after an error."""
    try:
        ran = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return ran.stdout if ran.returncode == 0 else None


def source_files(root):
    """Returns the files that git tracks or would track, relative to root, as sorted strings. Links are left out."""
    listed = git(root, "ls-files", "-z", "-co", "--exclude-standard")
    if listed is not None:
        names = listed.split("\0")[:-1]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
        names = [name for name in names if not LEFT_OUT & set(Path(name).parts)]
    return sorted(name for name in names if (root / name).is_file() and not (root / name).is_symlink())
