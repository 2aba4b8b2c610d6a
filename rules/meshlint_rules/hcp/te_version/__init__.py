"""HCP005: two-level context parallelism on an old Transformer Engine."""
