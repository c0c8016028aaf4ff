"""Training steps of FSDP2 in a lab, beside their bounds: for O1 to O3 (step_perf), O5 (policy_perf) and O6
(slow_rail_perf) of tools/bench."""
