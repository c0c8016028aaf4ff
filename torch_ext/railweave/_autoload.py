"""Gives torch the backend "railweave". torch calls register() at the end of `import torch` (entry point group
torch.backends); torch 2.14 and later also when a program names the backend (group torch.distributed.backends).

This module imports nothing of Railweave, starts nothing and reads no variable. No exception leaves register(), because
a broken installation of Railweave must not break `import torch`. The first use of the backend says what is wrong.
"""

failure = None  # exception of the last register(); None: torch has the backend


def _create(options, backend_options):
    """Makes a backend for torch. Raises ImportError with what to install if the extension does not load."""
    from railweave._creation import create

    return create(options, backend_options)


def register():
    """Registers the backend for CPU tensors, and for CUDA tensors if torch has CUDA. Further calls change nothing."""
    global failure
    try:
        import torch
        import torch.distributed as dist

        if "RAILWEAVE" not in dist.Backend._plugins:
            devices = ["cpu", "cuda"] if torch.backends.cuda.is_built() else ["cpu"]
            dist.Backend.register_backend("railweave", _create, extended_api=True, devices=devices)
        failure = None
    except Exception as error:  # noqa: BLE001  railweave.register() raises it
        failure = error
