"""One training step of FSDP2, over several ways to communicate, by turns in one process: for perf/bench's O1 to O3."""
