"""What a launch card says of one role, worked out from its effective config: one function for each line.

Each function takes an effective config and gives an `Item`; like a rule it ends with `Unjudged` where it meets an
unknown value, and forks over versions that nothing pins.
"""
