"""MSH001: a suppression that suppresses nothing."""

from __future__ import annotations

from meshlint.rule import HouseRule, Outcome, Severity


class UnusedSuppression(HouseRule):
    """A suppression comment names a rule that finds nothing there.

    ## What it does

    Reports each code of a `# meshlint: ignore[...]` or `# meshlint: file-ignore[...]` comment that kept no finding
    back. It speaks only where the rule was judged on every launch that reads the file: not under `--select` and the
    like, not where the paths given are single files, and not where an unknown value stopped the rule.

    ## Why is this bad

    The comment looks like a known exception. It stays behind when the fault is mended, and hides the next one.

    ## Example

    ```bash
    # meshlint: ignore[CTX001] -- the data loader pads
    torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 4096 --context-parallel-size 2
    ```

    4096 is a multiple of 2 * 2, so CTX001 has nothing to say.

    ## Use instead

    ```bash
    torchrun --nproc-per-node 8 pretrain_gpt.py --seq-length 4096 --context-parallel-size 2
    ```
    """

    code = "MSH001"
    slug = "unused-suppression"
    severity = Severity.WARNING
    outcomes = (Outcome.NONE,)


RULE = UnusedSuppression
