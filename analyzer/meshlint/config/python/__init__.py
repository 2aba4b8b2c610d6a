"""A bounded abstract evaluator of the Python that builds configs. Nothing of what it reads is executed or imported.

`program` finds and parses modules; `machine`, `expressions`, `calls` and `statements` are the evaluator, over the
values of `values`; `explore` runs it once for each variant; `flatten` turns the object that a recipe returns into
writes. `derived` is for rules: it tells what a value was computed from.
"""
