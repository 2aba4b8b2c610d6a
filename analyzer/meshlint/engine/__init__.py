"""From paths to findings: discovers, reads, judges, suppresses, sorts."""
