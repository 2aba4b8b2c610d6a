"""What wraps a model so that calling it is an event of all ranks that share it. Sources stand beside the rows."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Wrapper(NamedTuple):
    """One wrapper: `class`: an object of it is the model; `in-place`: its first argument; `first`: the first it gives.

    `held` is the text under which an entry answers for the wrapped model.
    """

    name: str
    form: Literal["class", "in-place", "first"]
    held: str
    source: str


_FSDP = "https://docs.pytorch.org/docs/2.9/fsdp.html"

WRAPPERS = (
    Wrapper("FSDP", "class", "FSDP()", _FSDP),
    Wrapper("FullyShardedDataParallel", "class", "FullyShardedDataParallel()", _FSDP),
    Wrapper("fully_shard", "in-place", "fully_shard()",
            "https://docs.pytorch.org/docs/2.9/distributed.fsdp.fully_shard.html"),
    Wrapper("deepspeed.initialize", "first", "deepspeed.initialize()[0]", "DeepSpeed 0.19.6, deepspeed/__init__.py"),
)  # fmt: skip

CLASSES = {wrapper.name: wrapper for wrapper in WRAPPERS if wrapper.form == "class"}
FIRSTS = {wrapper.name: wrapper for wrapper in WRAPPERS if wrapper.form == "first"}
IN_PLACE = tuple(wrapper for wrapper in WRAPPERS if wrapper.form == "in-place")
SHARDERS = tuple(wrapper.name for wrapper in WRAPPERS if wrapper.form != "first")
"""Endings of calls that take the model which they wrap as an argument and leave nothing else in their result."""
