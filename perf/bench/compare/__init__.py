"""The same operation and sizes through Railweave, Gloo and Open MPI, in alternation in one lab."""
