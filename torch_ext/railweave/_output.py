"""Output files."""

from contextlib import contextmanager


@contextmanager
def naming(path):
    """Adds `path` to an OSError raised within that names no file, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
