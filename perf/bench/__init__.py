"""Acceptance figures: runs our programs and the raw yardstick alternately in one lab, takes medians, gives verdicts.
Uses the standard library only."""
