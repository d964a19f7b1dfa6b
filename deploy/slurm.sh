#!/bin/bash
# Trains a plan by 8 workers on 2 hosts of a Slurm cluster, and goes on where it was cut short:
#   sbatch deploy/slurm.sh plan.toml
# Change the numbers here alone; srun and the workers take them from Slurm. The folder must be on a disk that all
# hosts see.
#SBATCH --job-name=espalier
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
# Cores of a worker.
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
# Two minutes before the time is over workers are told to save and to end with 42.
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
set -euo pipefail
plan=${1:?usage: sbatch slurm.sh PLAN.toml}

# srun gives each worker its own cores; it does not take --cpus-per-task from the job by itself.
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
export ESPALIER_THREADS=$SLURM_CPUS_PER_TASK

# Workers show each other that they know it; by itself it would be made of what others on the cluster know, too.
ESPALIER_SECRET=$(od -An -N16 -tx1 /dev/urandom | tr -d ' ')
export ESPALIER_SECRET

# What each worker believes, held against all others, before hours are spent. Files of an older try are not read.
looks=doctor-$SLURM_JOB_ID
mkdir -p "$looks"
rm -f "$looks"/*.json
srun sh -c "espalier doctor --json --out $looks/\$SLURM_PROCID.json" || true
espalier doctor --compare "$looks"/*.json

# Workers find each other by SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST and SLURM_JOB_ID. For engine
# mpi: srun --mpi=pmix. Without it, or with --mpi=pmi2, each worker is an MPI job of its own.
code=0
srun espalier train "$plan" --strategy multiworker --checkpoint-every 100 --resume || code=$?

# Told to go: the job waits for its next turn.
if [ "$code" -eq 42 ]; then
  exec scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
