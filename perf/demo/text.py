"""Real text that every machine with the demo has: the sources of Python's standard library."""
from __future__ import annotations

import sysconfig
from pathlib import Path

import torch

_LEAST_BYTES = 1 << 16  # with less, the library's sources are missing
_MOST_BYTES = 20 << 20
_SEEDS_OF_A_STEP = 10_007  # more than the ranks: no two ranks draw the same


def load() -> torch.Tensor:
    """Returns bytes, uint8 [n], the same on every rank. Raises RuntimeError if there are no sources."""
    text = bytearray()
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text += path.read_bytes()
        if len(text) >= _MOST_BYTES:
            break
    if len(text) < _LEAST_BYTES:
        raise RuntimeError(f"expected Python's sources in {sysconfig.get_path('stdlib')}, found {len(text)} bytes")
    return torch.frombuffer(text, dtype=torch.uint8)


def batch(text: torch.Tensor, step: int, rank: int, sequences: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns this rank's part of a step: bytes and their successors, int64 [sequences, length]."""
    random = torch.Generator().manual_seed(step * _SEEDS_OF_A_STEP + rank)
    begins = torch.randint(len(text) - length - 1, (sequences,), generator=random)
    pieces = torch.stack([text[begin:begin + length + 1] for begin in begins.tolist()]).long()
    return pieces[:, :-1], pieces[:, 1:]
