"""The command line: one file a verb; parses arguments, calls the engine, exits."""
