"""A rail that is lost in mid-transfer, and how soon what is left carries on: for perf/bench's R1."""
