"""Folders that the recipes and checks share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
OUT = ROOT / "build" / "dist"  # packages
WORK = OUT / "work"  # what packages are made of; a next run uses it again
CACHE = OUT / "cache"  # downloads
LOGS = OUT / "logs"
