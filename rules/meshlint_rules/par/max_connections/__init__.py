"""PAR012: a number of hardware queues that the parallel sizes refuse."""
