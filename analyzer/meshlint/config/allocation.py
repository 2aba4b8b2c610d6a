"""AReaL's allocation words: `sglang:d4t2+megatron:d2p2t2c2`, several engines, shared GPUs, attention and experts apart.

The grammar is that of areal/api/alloc_mode.py at v0.5.3 and v1.0.4, and the older `sglang.d4p1t1+d2p2t2` of v0.3.4: an
engine that trains and is not named is Megatron where it has pipeline stages or experts, else FSDP (v0.5.3 :277). From
v1.0.4 on every engine must be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from meshlint.records import dataclass

INFERENCE = ("sglang", "vllm")
TRAINING = ("fsdp", "megatron", "archon")
MAX_CHARS = 500
MAX_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Allocation:
    """One engine: its backend, the name in brackets, and degrees by letter (d, p, t, c, e; `et` inside experts)."""

    backend: str
    name: str
    degrees: Mapping[str, int]

    @property
    def trains(self) -> bool:
        """Say whether the engine trains, as opposed to generating."""
        return self.backend in TRAINING

    @property
    def ranks(self) -> int:
        """Give the number of its ranks."""
        ranks = 1
        for letter in "dptc":
            ranks *= self.degrees.get(letter, 1)
        return ranks

    @property
    def word(self) -> str:
        """Give the engine alone, in the newest spelling: `megatron:d2p2t2`."""
        degrees = "".join(f"{letter}{self.degrees[letter]}" for letter in "dptce" if letter in self.degrees)
        if "et" not in self.degrees:
            return f"{self.backend}:{degrees}"
        attention = "".join(f"{letter}{self.degrees[letter]}" for letter in "dptc" if letter in self.degrees)
        return f"{self.backend}:(attn:{attention}|ffn:e{self.degrees.get('e', 1)}t{self.degrees['et']})"


def allocations(text: str) -> tuple[Allocation, ...]:
    """Read an allocation word; raises ValueError, with a clause that says why, for anything else."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"it has more than {MAX_CHARS} characters")
    bare = "".join(text.split())
    found = [_one(part) for chain in _split(bare, "+") for part in _shared(chain)]
    return tuple(one for one in found if one is not None)


def _split(text: str, mark: str) -> Iterator[str]:
    """Cut at a mark that stands outside parentheses."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == mark and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _shared(chain: str) -> Iterator[str]:
    """Give the engines that share GPUs; `attn:...|ffn:...` without parentheses is one engine."""
    parts = list(_split(chain, "|"))
    for place, part in enumerate(parts):
        if part.startswith("ffn:") and place:
            continue
        after = parts[place + 1] if place + 1 < len(parts) else ""
        yield f"{part}|{after}" if after.startswith("ffn:") else part


def _one(text: str) -> Allocation | None:
    if text in ("cpu", "eval"):
        return None
    backend, name, rest = _head(text)
    if "attn:" in rest:
        return Allocation(backend or "megatron", name, _apart(rest))
    degrees = _degrees(rest, "dpt" if backend in INFERENCE else "dptce")
    if not backend:
        backend = "megatron" if degrees.get("p", 1) > 1 or degrees.get("e", 1) > 1 else "fsdp"
    return Allocation(backend, name, degrees)


def _head(text: str) -> tuple[str, str, str]:
    """Take `backend[name]:` or the older `backend.` off an engine."""
    for backend in (*INFERENCE, *TRAINING):
        if not text.startswith(backend):
            continue
        rest = text[len(backend) :]
        name = ""
        if rest.startswith("["):
            name, _, rest = rest[1:].partition("]")
        if rest[:1] in (":", "."):
            return backend, name, rest[1:]
    return "", "", text


def _apart(text: str) -> dict[str, int]:
    """Read `(attn:d2p2t2c2|ffn:d2e4)`; pp of the experts is attention's, their tp is 1 where it is not given."""
    sides = dict(side.split(":", 1) for side in text.strip("()").split("|") if ":" in side)
    attention, experts = _degrees(sides.get("attn", ""), "dptc"), _degrees(sides.get("ffn", ""), "dpte")
    if experts.get("p", attention.get("p", 1)) != attention.get("p", 1):
        raise ValueError("attention and experts differ in pipeline stages")
    return {**attention, "e": experts.get("e", 1), "et": experts.get("t", 1)}


def _degrees(text: str, letters: str) -> dict[str, int]:
    degrees: dict[str, int] = {}
    place = 0
    while place < len(text):
        letter, place = text[place], place + 1
        start = place
        while place < len(text) and "0" <= text[place] <= "9":
            place += 1
        digits = text[start:place]
        if letter not in letters or not digits or digits[0] == "0" or len(digits) > MAX_DIGITS:
            raise ValueError(f"`{text[:40]}` is no mesh such as d4p2t2")
        degrees[letter] = int(digits)
    if not degrees:
        raise ValueError("an engine has no mesh such as d4p2t2")
    return degrees
