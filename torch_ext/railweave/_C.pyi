from datetime import timedelta
from enum import Enum

from torch.distributed import Backend, Store

built_for_torch: str

class Priority(Enum):
    urgent = ...
    normal = ...
    bulk = ...

def set_priority(priority: Priority) -> Priority: ...

class Options:
    timeout: timedelta
    def __init__(self, timeout: timedelta = ...) -> None: ...

class ProcessGroupRailweave(Backend):
    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta = ..., name: str = "railweave") -> None: ...
