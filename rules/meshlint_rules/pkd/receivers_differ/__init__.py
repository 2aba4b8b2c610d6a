"""PKD007: packed metadata that senders and receivers disagree on."""
