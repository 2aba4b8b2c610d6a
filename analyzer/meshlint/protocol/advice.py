"""What to do about a fault of code: one sentence or two for each code, in words of its own group and lines."""

from __future__ import annotations

_TOGETHER = "let the gate in front of it ask for nothing that differs between them"


def advice(code: str, group: str, line: str) -> str:
    """Say how to mend a fault of a code on a group, of which the gate stands on a line ("": none); empty if unknown."""
    ranks = "all ranks" if group == "world" else f"all ranks of one {group} group"
    match code:
        case "COL001":
            return (
                f"{_capital(ranks)} must make this call: {_TOGETHER}, and put behind such a gate only what is done "
                "with the result."
            )
        case "COL007":
            return f"It makes collectives inside, so {ranks} must call it: {_TOGETHER}."
        case "COL002":
            return f"Make the calls that follow before some ranks leave, or let {ranks} leave together."
        case "COL003":
            if not line:
                return f"Let {ranks} give the call as many elements and the same arguments; agree on them first."
            return f"Let both sides of line {line} make the same calls on the group, in the same order."
        case "COL004":
            return f"Agree on the rounds first (an all_reduce with MAX), so that {ranks} make as many of them."
        case "COL005":
            return (
                f"Keep the failure until {ranks} know of it: reduce a flag over the group behind the handler or check, "
                "then leave together."
            )
        case "COL006":
            return f"Let one rank decide and broadcast it, or reduce it over the group, before {ranks} branch on it."
        case "GRP001":
            return "Make it on every rank of the job, with the same list and in the same order; gate only its use."
        case "GRP002":
            return (
                "Give the rank of a member in the whole job (`torch.distributed.get_global_rank(group, 0)` for the "
                "first), or its place in the group as `group_src` or `group_dst`."
            )
        case "GRP004":
            return f"Ask for the {group} group itself: its members, or its size."
        case "PKD007":
            return "Let the rank that sends and those that receive make the same calls on every stage, in one order."
    return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
