from pathlib import Path

from railweave._C import Options as Options
from railweave._C import ProcessGroupRailweave as ProcessGroupRailweave

def register() -> None: ...
def enable_nccl_plugin(required: bool = True) -> Path: ...
