"""Losses in mid-transfer: of a rail (R1 of tools/bench) or a peer (R2). Measures how soon the rest continues or reports
an error."""
