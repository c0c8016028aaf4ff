"""Acceptance figures: ours and the raw yardstick in alternation in one lab, medians, verdicts.
Standard library only."""
