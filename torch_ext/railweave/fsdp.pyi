from typing import TypeVar

from torch.nn import Module

_Model = TypeVar("_Model", bound=Module)

def overlap(model: _Model, *, window: int | str | None = None, prefetch: int = 2,
            reduce_scatters: int = 2) -> _Model: ...
