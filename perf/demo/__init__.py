"""`make demo`: FSDP2 over Gloo, over railweave, and over railweave with its collectives beside compute."""
