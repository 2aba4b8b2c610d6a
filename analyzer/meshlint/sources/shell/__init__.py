"""A bounded abstract evaluator of bash: which commands a script reaches, with which words, and who wrote them.

Nothing is executed. `script.evaluate` is the door; the other modules are its parts: `document` (text with places),
`term` (values that may be unknown or hang on an undecided condition), `words` (expansions), `tests` (conditions),
`arithmetic`, `pattern`, `builtins`, `machine` (statements), `slurm` (SBATCH comments).
"""
