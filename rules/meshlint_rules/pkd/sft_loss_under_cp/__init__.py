"""PKD006: a fine-tuning loss that cp distorts."""
