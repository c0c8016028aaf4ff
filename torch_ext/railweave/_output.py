"""Files that results go to."""

from contextlib import contextmanager


@contextmanager
def naming(path):
    """An OSError within says that it is of `path`: that of a full disk says nothing of a file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
