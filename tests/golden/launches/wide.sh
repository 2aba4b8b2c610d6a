#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
ARGS=(
    --num-layers 25 --hidden-size 2048 --num-attention-heads 16
    --seq-length 8192 --max-position-embeddings 8192
    --micro-batch-size 2 --global-batch-size 256
    --tensor-model-parallel-size 2 --sequence-parallel
    --num-experts 16 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1
    --moe-token-dispatcher-type alltoall
    --context-parallel-size 4 --pipeline-model-parallel-size 2
    --bf16
)
srun torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py "${ARGS[@]}"
