"""What shows CTX003."""

from __future__ import annotations

from meshlint.reproduce.attention import Setting, attention_cases
from meshlint.reproduce.case import Happens, Own, Reproducer
from meshlint.reproduce.own import Sizes, heads_of, numbers, short, smallest, told


def own(sizes: Sizes) -> Own | None:
    """Make the case of a launch's heads over the degree of its all-to-all."""
    found, written = numbers(sizes, "context_parallel_size"), sizes.get("cp_comm_type")
    types = written if isinstance(written, list) else [written]
    comm = next((one for one in types if one in ("a2a", "a2a+p2p")), None)
    if found is None or comm is None:
        return None
    levels = sizes.get("hierarchical_context_parallel_sizes")
    degree = found[0] if comm == "a2a" else levels[0] if isinstance(levels, list) and levels else 0
    fails = ((what, heads, smallest(heads, degree)) for what, heads in heads_of(sizes))
    what, heads, few = next((one for one in fails if one[2] is not None), ("", 0, None))
    if few is None:
        return None
    small = short(heads, few)
    failing, fixed = (
        Setting(comm, [few, 1] if comm == "a2a+p2p" else None, cp=few, seq=4 * few, heads=count)
        for count in (small, few)
    )
    says = f"{small} {what.partition(' of')[0]} over the {few} ranks of an all-to-all"
    error = f"cannot be cut into {few} equal parts"
    words = {what: heads, "cp_comm_type": comm, "all-to-all over": degree}
    return Own(
        attention_cases(comm, says, failing, fixed, Happens.CRASH, error=error),
        told(words, {"all-to-all over": (degree, few), what: (heads, small)}),
    )


REPRODUCER = Reproducer(
    "CTX003",
    (
        *attention_cases(
            "a2a",
            "three heads over the two ranks of an all-to-all",
            Setting("a2a", heads=3),
            Setting("a2a", heads=2),
            Happens.CRASH,
            error="cannot be cut into 2 equal parts",
        ),
        *attention_cases(
            "a2a+p2p",
            "three heads over the two ranks of the first level",
            Setting("a2a+p2p", [2, 1], heads=3),
            Setting("a2a+p2p", [2, 1], heads=2),
            Happens.CRASH,
            error="cannot be cut into 2 equal parts",
        ),
    ),
    own=own,
)
