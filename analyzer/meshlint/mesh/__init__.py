"""Dims, groups, gates and protocol terms, their simulation, and the drawings of ranks.

`dims`, `group` and `gate` are the words, `term` what a function does; `simulate` is the one semantics (`run` its
results, `contract` the game of outside facts), `fast` proves without it, `blame` finds faults, `pairing`, `classify`
and `draw` say what they are, `payload` asks which keys reach which stage.
"""
