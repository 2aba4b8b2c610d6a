"""MSH002: a suppression that is malformed, names no rule, or gives no reason."""

from __future__ import annotations

from meshlint.rule import HouseRule, Outcome, Severity


class BadSuppression(HouseRule):
    """A suppression comment is malformed, names a rule that does not exist, or gives no reason.

    ## What it does

    A comment that starts with `meshlint:` must read `ignore[CODE, ...] -- reason` or
    `file-ignore[CODE, ...] -- reason`. The codes are exact (`HCP001`, not `HCP`). The reason may be left out only
    where every rule named is below an error. A comment that is anything else suppresses nothing.

    ## Why is this bad

    Whoever wrote it believes that something is suppressed, and a reader cannot tell why.

    ## Example

    ```yaml
    # meshlint: ignore HCP001
    --cp-comm-type: a2a+p2p
    ```

    ## Use instead

    ```yaml
    # meshlint: ignore[HCP001] -- the sizes come from the cluster's own wrapper
    --cp-comm-type: a2a+p2p
    ```
    """

    code = "MSH002"
    slug = "bad-suppression"
    severity = Severity.WARNING
    outcomes = (Outcome.NONE,)


RULE = BadSuppression
