"""Measures the same operations and sizes through Railweave, Gloo and Open MPI, alternately in one lab."""
