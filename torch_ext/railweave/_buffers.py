"""Memory for collectives, used again."""

import math

import torch

_FORWARDS_KEPT = 16  # start: without being taken; an evaluation between steps may have some


class _Memory:
    def __init__(self, bytes_, device):
        self._tensor = torch.empty(bytes_, dtype=torch.uint8, device=device)
        self._alone = self._holders()  # while nobody else has it

    def _holders(self):
        return torch._C._storage_Use_Count(self._tensor.untyped_storage()._cdata)

    def is_free(self):
        return self._holders() == self._alone

    def is_whole(self):
        """False where somebody took its bytes away, or moved them to where other processes see them."""
        return self._tensor.untyped_storage().nbytes() == self._tensor.nbytes and not self._tensor.is_shared()

    def serves(self, bytes_):
        return self._tensor.nbytes == bytes_ and self.is_free() and self.is_whole()

    def as_(self, size, dtype):
        return self._tensor.view(dtype).view(*size)


class Buffers:
    """Of CPU tensors: what no tensor holds any more (a bare storage is not seen) is given again, for pages that the
    kernel has to clear first cost about as much as the bytes' way to the peer. Other devices have allocators that do
    so. Threads: one at a time."""

    def __init__(self):
        self._kept = []  # pairs: the forward in which it was taken last, memory
        self._forward = 0

    def forward_begins(self):
        """What nobody took for some forwards is given back."""
        self._forward += 1
        oldest = self._forward - _FORWARDS_KEPT
        self._kept = [(taken, memory) for taken, memory in self._kept if taken >= oldest or not memory.is_free()]

    def take(self, size, dtype, device):
        """As torch.empty."""
        if device.type != "cpu":
            return torch.empty(*size, dtype=dtype, device=device)
        bytes_ = math.prod(size) * dtype.itemsize
        found = next((at for at, (_, memory) in enumerate(self._kept) if memory.serves(bytes_)), None)
        memory = _Memory(bytes_, device) if found is None else self._kept.pop(found)[1]
        self._kept.append((self._forward, memory))
        return memory.as_(size, dtype)
