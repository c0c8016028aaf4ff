"""Training steps of FSDP2 in a lab, against what bounds them: for tools/bench's O1 to O3 (step_perf), O5 (policy_perf),
O6 (slow_rail_perf)."""
