"""Memory for collectives, reused."""

import math

import torch

_FORWARDS_KEPT = 16  # forwards without being taken; a starting point: an evaluation between steps may have some


class _Memory:
    def __init__(self, bytes_, device):
        self._tensor = torch.empty(bytes_, dtype=torch.uint8, device=device)
        self._alone = self._holders()  # use count while nothing else holds the storage

    def _holders(self):
        return torch._C._storage_Use_Count(self._tensor.untyped_storage()._cdata)

    def is_free(self):
        return self._holders() == self._alone

    def is_whole(self):
        """Returns false if the bytes were taken away, or moved to memory that other processes see."""
        return self._tensor.untyped_storage().nbytes() == self._tensor.nbytes and not self._tensor.is_shared()

    def serves(self, bytes_):
        return self._tensor.nbytes == bytes_ and self.is_free() and self.is_whole()

    def as_(self, size, dtype):
        return self._tensor.view(dtype).view(*size)


class Buffers:
    """Reuses the memory of a CPU tensor once no tensor holds it any more (a bare storage is not noticed). Pages that
    the kernel must clear first cost about as much as sending the bytes to the peer. Other devices have allocators that
    reuse memory. Threads: one at a time."""

    def __init__(self):
        self._kept = []  # pairs: the last forward that took the memory, the memory
        self._forward = 0

    def forward_begins(self):
        """Starts a forward. Frees memory that was not taken for some forwards (_FORWARDS_KEPT)."""
        self._forward += 1
        oldest = self._forward - _FORWARDS_KEPT
        self._kept = [(taken, memory) for taken, memory in self._kept if taken >= oldest or not memory.is_free()]

    def take(self, size, dtype, device):
        """Returns memory as torch.empty does."""
        if device.type != "cpu":
            return torch.empty(*size, dtype=dtype, device=device)
        bytes_ = math.prod(size) * dtype.itemsize
        found = next((at for at, (_, memory) in enumerate(self._kept) if memory.serves(bytes_)), None)
        memory = _Memory(bytes_, device) if found is None else self._kept.pop(found)[1]
        self._kept.append((self._forward, memory))
        return memory.as_(size, dtype)
