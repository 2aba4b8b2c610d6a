"""PAR004: heads that tensor parallelism cannot split."""

from __future__ import annotations

from collections.abc import Iterator

from meshlint.config.sizes import smaller_divisors
from meshlint.rule import EffectiveConfig, Fix, LaunchRule, Outcome, Reference, Verdict, Window

DIVISORS_PASS = Window(
    "megatron-core",
    since="0.16",
    says="key-value groups may also divide tp",
    source="megatron/core/transformer/transformer_config.py:939-946 at core_v0.16.0; :758 at core_v0.15.3",
)


class HeadsPerTp(LaunchRule):
    """Attention heads or key-value groups that cannot be divided among the tensor parallel ranks.

    ## What it does

    Finds `num_attention_heads` that is not a multiple of `tensor_model_parallel_size`, and `num_query_groups` that does
    not go with it: before megatron-core 0.16 the groups have to be a multiple of tp, from 0.16 on a multiple or a
    divisor.

    ## Why this is bad

    Each tensor parallel rank holds whole heads. megatron-core's `TransformerConfig` raises a ValueError when the model
    is made, on every rank.

    ## Example

    ```bash
    torchrun pretrain_gpt.py --num-attention-heads 14 --tensor-model-parallel-size 4
    ```

    ## Use instead

    ```bash
    torchrun pretrain_gpt.py --num-attention-heads 14 --tensor-model-parallel-size 2
    ```

    ## References/versions

    The heads in every version so far; for the groups, see below.
    """

    code = "PAR004"
    slug = "heads-per-tp"
    outcomes = (Outcome.CRASH_START,)
    windows = (DIVISORS_PASS,)
    references = (
        Reference("megatron/core/transformer/transformer_config.py:924 at core_v0.16.1; :296 at core_v0.8.0"),
        Reference("megatron/core/transformer/transformer_config.py:311 at core_v0.8.0; :384 at core_v0.10.0"),
    )

    def check(self, config: EffectiveConfig) -> Iterator[Verdict]:
        """Ask for tp first: where it is 1, everything divides."""
        tp = config.number("tensor_model_parallel_size")
        if tp <= 1 or config.data("num_attention_heads") is None:
            return
        heads = config.number("num_attention_heads")
        if heads % tp:
            yield _verdict("num_attention_heads", heads, tp, "a multiple")
            return
        if config.data("num_query_groups") is None:
            return
        groups = config.number("num_query_groups")
        if groups <= 0 or groups % tp == 0:
            return
        if tp % groups:
            yield _verdict(
                "num_query_groups", groups, tp, "a multiple, nor, as megatron-core 0.16 would allow, a divisor,"
            )
        elif not config.within(DIVISORS_PASS):
            yield _verdict(
                "num_query_groups", groups, tp, "a multiple (only from megatron-core 0.16 on a divisor passes)"
            )


def _verdict(field: str, count: int, tp: int, wanted: str) -> Verdict:
    return Verdict(
        f"{field} = {count} is not {wanted} of tensor_model_parallel_size = {tp}: TransformerConfig raises a "
        "ValueError when the model is made, and every rank stops.",
        Outcome.CRASH_START,
        subject=field,
        at="tensor_model_parallel_size",
        fields=(field,),
        fix=Fix(f"Set tensor_model_parallel_size to one of {smaller_divisors(count, tp)}, which divide {field}."),
    )


RULE = HeadsPerTp
