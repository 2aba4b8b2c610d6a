"""HCP008: hybrid or dynamic context parallelism taken for the hierarchical one."""
