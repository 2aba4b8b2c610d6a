"""PKD009: context parallelism without packing where the framework has it with packing only."""
