"""Reproducers: small programs that show the failure of a rule or a finding, and the fixed arm that does not fail.

`case` is what a rule states beside itself. `pretend` runs the arms without torch, `worker` (a program of its own, by
`launch`) with torch on gloo or NCCL; both give the same facts about every rank, and `verdict` says what they show.
`script` writes a case as one file for torchrun, `skeleton` makes arms of a finding's own protocol.
"""
