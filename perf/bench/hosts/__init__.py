"""Networks as they are outside of labs: the table of shapes, settings and faults, and the programs that measure its
rows."""
