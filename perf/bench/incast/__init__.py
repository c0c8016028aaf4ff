"""Many senders into one rail: how much of it they use together, and how evenly. For R7, F1 and F2 of tools/bench."""
