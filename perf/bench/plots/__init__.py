"""Pictures of measurements (matplotlib)."""
