#!/usr/bin/env bash
# Starts a training by Open MPI, which starts ranks on all hosts from one. Run this script on one host:
#   deploy/openmpi/train.sh HOST:SLOTS[,HOST:SLOTS...] FIRST_HOST[:PORT] [SCRIPT [ARGUMENTS...]]
# FIRST_HOST is the name or address of the first host of the list, as the other hosts reach it; rank 0 listens there.
# More options of mpirun come from MPIRUN_OPTIONS.
set -euo pipefail

if (($# < 2)); then
  echo "usage: $0 HOST:SLOTS[,HOST:SLOTS...] FIRST_HOST[:PORT] [SCRIPT [ARGUMENTS...]]" >&2
  exit 2
fi
hosts=$1 first=$2
shift 2
(($#)) || set -- "$(cd "$(dirname "$0")/.." && pwd)/train.py"
port=29500
[[ $first != *:* ]] || port=${first##*:}

export MASTER_ADDR=${first%:*} MASTER_PORT=$port
# mpirun gives no variable of this shell to ranks on other hosts unless -x names the variable.
passed=()
while IFS='=' read -r name _; do
  case $name in
    RAILWEAVE_* | NCCL_* | MASTER_ADDR | MASTER_PORT | PYTHONPATH | LD_LIBRARY_PATH) passed+=(-x "$name") ;;
  esac
done < <(env)

# Word splitting is meant: MPIRUN_OPTIONS has several words.
# shellcheck disable=SC2086
exec mpirun -H "$hosts" "${passed[@]}" ${MPIRUN_OPTIONS:-} "${PYTHON:-python3}" "$@"
