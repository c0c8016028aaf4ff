"""What is lost in mid-transfer, and how soon what is left carries on or is told:
a rail (tools/bench's R1), a peer (R2)."""
