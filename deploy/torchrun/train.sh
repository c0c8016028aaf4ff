#!/usr/bin/env bash
# Starts a training on each of several hosts by torchrun. Run this script on every host, with the same arguments:
#   deploy/torchrun/train.sh NODES PER_NODE FIRST_HOST[:PORT] [SCRIPT [ARGUMENTS...]]
# FIRST_HOST is a host of the job that all others reach; its port (29400) must be free. Rails are chosen on each host;
# `railweave info` shows them.
set -euo pipefail

if (($# < 3)); then
  echo "usage: $0 NODES PER_NODE FIRST_HOST[:PORT] [SCRIPT [ARGUMENTS...]]" >&2
  exit 2
fi
nodes=$1 per_node=$2 first=$3
shift 3
(($#)) || set -- "$(dirname "$0")/../train.py"
[[ $first == *:* ]] || first=$first:29400

exec torchrun --nnodes "$nodes" --nproc-per-node "$per_node" --rdzv-backend c10d --rdzv-endpoint "$first" \
  --rdzv-id railweave "$@"
