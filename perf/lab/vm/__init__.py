"""A throw-away VM with Debian's kernel, for what a host's own kernel lacks. Uses the standard library only. Each file
has one mechanism."""
