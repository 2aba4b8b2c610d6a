"""A bounded abstract evaluator of bash: which commands a script reaches, with which words, and who wrote them.

Nothing is executed. `script.evaluate` is the door. Behind it, from the ground up:

- `document` text with the place of every character, `term` values that may be unknown or hang on an open condition,
  `state` variables and assumptions, `pattern` and `arithmetic` for plain texts;
- `values`, `words`, `numbers`, `parameters`, `expansions` for what a word means, `conditions` for tests;
- `flow`, `branches`, `loops`, `functions`, `assignments`, `capture` for statements, `commands`, `builtins`, `processes`
  for commands, `slurm` for SBATCH comments, and `machine`, the table of all statements;
- `variants`, which resolves a command's words for each way that its open conditions can go.
"""
