"""PAR004: heads that tensor parallelism cannot split."""
