torchrun --nproc-per-node 8 pretrain_gpt.py \
    --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 \
    --micro-batch-size 1 --global-batch-size 16 --context-parallel-size 4 \
    --multi-latent-attention \
    --cp-comm-type a2a
