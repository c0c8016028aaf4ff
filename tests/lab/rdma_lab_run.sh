#!/bin/bash
# Runs a command in the VM, then prints the JSON document that the command left in /tmp/result.json.
# For tests/lab/test_rdma_lab.py.
"$@" || exit
echo
cat /tmp/result.json
