"""For scikit-build-core: the wheel's requirement of torch, from the torch that it is built against. torch's collectives
of objects, which railweave.report() calls, use NumPy; torch does not bring NumPy."""

from __future__ import annotations

import importlib.metadata


def dynamic_metadata(field: str, settings: dict[str, object]) -> list[str]:
    """`torch==MAJOR.MINOR.*` and `numpy` for the field `dependencies`. Errors: ValueError, for another field or a
    setting."""
    if field != "dependencies" or settings:
        raise ValueError(f"expected the field dependencies without settings, found {field} with {settings}")
    return [f"torch=={'.'.join(importlib.metadata.version('torch').split('.')[:2])}.*", "numpy"]


def get_requires_for_dynamic_metadata(settings: dict[str, object]) -> list[str]:
    """Nothing beyond the build's own requirements."""
    return []
