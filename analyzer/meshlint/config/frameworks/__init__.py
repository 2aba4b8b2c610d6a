"""One module a framework: its spellings, defaults and habits, as data with sources."""
