"""PAR005: sequence parallelism without tensor parallelism."""
