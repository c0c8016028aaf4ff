from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from railweave._C import Options as Options
from railweave._C import ProcessGroupRailweave as ProcessGroupRailweave

def register() -> None: ...
def enable_nccl_plugin(required: bool = True) -> Path: ...
def hints(priority: Literal["urgent", "normal", "bulk"]) -> AbstractContextManager[None]: ...
