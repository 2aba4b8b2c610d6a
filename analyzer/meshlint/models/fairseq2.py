"""fairseq2: gangs. Source: facebookresearch/fairseq2 main of 2026-04 (027bdebca), src/fairseq2/gang.py.

A gang is a process group with methods; `gangs` holds one for each kind of parallelism.
"""

from __future__ import annotations

from meshlint.models.entry import Entry, under

_SRC = "fairseq2 main of 2026-04, src/fairseq2/gang.py"

GANGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("root", ("world",)), ("dp", ("dp",)), ("rdp", ("dp.1",)), ("sdp", ("dp.0",)), ("tp", ("tp",)), ("pp", ("pp",)),
)  # fmt: skip
"""The fields of `Gangs` and the dims that each gang spans."""


def _of(holders: tuple[str, ...], dims: tuple[str, ...]) -> tuple[Entry, ...]:
    return under(
        holders,
        (
            Entry(("rank",), "rank", _SRC, dims=dims, attribute=True),
            Entry(("size",), "size", _SRC, dims=dims, attribute=True),
            Entry(("device", "supports_process_group"), "config", _SRC, attribute=True),
            Entry(("as_process_group",), "group", _SRC, dims=dims),
            Entry(("barrier",), "op", _SRC, dims=dims, op="barrier"),
            Entry(("all_reduce",), "op", _SRC, dims=dims, op="all_reduce", payload=(0, "tensor"), effect="in-place"),
            Entry(("all_gather",), "op", _SRC, dims=dims, op="all_gather", payload=(0, "output_tensor"),
                  effect="in-place"),
            Entry(("all_gather_to_list",), "op", _SRC, dims=dims, op="all_gather", payload=(0, "output_tensors"),
                  effect="list"),
            Entry(("broadcast",), "op", _SRC, dims=dims, op="broadcast", payload=(0, "tensor"), effect="in-place",
                  group_root="source_rank"),
            Entry(("broadcast_objects",), "op", _SRC, dims=dims, op="broadcast_object_list", payload=(0, "objects"),
                  effect="list", group_root="source_rank", object_form=True),
        ),
    )  # fmt: skip


ENTRIES = (
    *(
        entry
        for name, dims in GANGS
        for entry in _of((f"gangs.{name}", f"_gangs.{name}", f"{name}_gang", f"_{name}_gang"), dims)
    ),
    Entry(("fairseq2.gang.broadcast_flag",), "op", _SRC, op="broadcast", group=(0, "gang"), payload=(1, "flag"),
          effect="returns"),
    Entry(("fairseq2.gang.all_sum",), "op", _SRC, op="all_reduce", group=(0, "gang"), payload=(1, "value"),
          effect="returns"),
)  # fmt: skip
