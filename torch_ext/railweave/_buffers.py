"""Memory for collectives, used again."""

import math

import torch


def _holders(tensor):
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


class Buffers:
    """Of CPU tensors: what nobody else holds any more is given again, for pages that the kernel has to clear first cost about as much as
    the bytes' way to the peer. Keeps as much as was ever held at once. Other devices have allocators that do so. Threads: one at a time."""

    def __init__(self):
        self._kept = []  # (bytes of memory, its holders while it is only here)

    def take(self, size, dtype, device):
        """As torch.empty."""
        if device.type != "cpu":
            return torch.empty(*size, dtype=dtype, device=device)
        count = math.prod(size) * dtype.itemsize
        for memory, alone in self._kept:
            if memory.nbytes == count and _holders(memory) == alone:
                return memory.view(dtype).view(*size)
        memory = torch.empty(count, dtype=torch.uint8)
        self._kept.append((memory, _holders(memory)))
        return memory.view(dtype).view(*size)
