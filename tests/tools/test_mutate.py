"""The tool that puts faults into launches, on launches of our own, and on real ones where checkouts are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from faults import FAULTS, REASONS
from mutate import Checkout, Unfit, mirror, targets, try_fault

FIXTURES = Path(__file__).parents[2] / "fixtures"
OWN = (
    ("CTX001/good/functional", ("HCP001", "HCP002", "HCP003", "CTX001", "CTX004", "CTX009", "PKD006")),
    ("CTX001/good/megatron.sh", ("HCP001", "HCP007", "CTX003", "CTX005", "CTX006")),
    ("CTX001/good/nemo2_recipe.py", ("CTX001",)),
    ("CTX001/good/bridge_recipe.py", ("HCP002", "HCP004", "CTX002", "CTX010")),
    ("CTX002/good/swift.sh", ("HCP006", "PKD002", "PKD003")),
    ("CTX002/good/verl.sh", ("HCP006", "CTX006")),
    ("CTX002/good/nemo_rl.yaml", ("CTX002", "PKD003")),
    ("CTX002/good/slime_launcher.py", ("HCP001", "PKD004")),
)


@pytest.mark.parametrize(("fixture", "code"), [(name, code) for name, codes in OWN for code in codes])
def test_a_fault_is_put_in_and_taken_out(fixture: str, code: str, tmp_path: Path) -> None:
    source = FIXTURES / fixture
    root = tmp_path / "source"
    root.mkdir()
    for file in [source] if source.is_file() else list(source.iterdir()):
        (root / file.name).write_text(file.read_text())
    checkout = Checkout.at(mirror(root, tmp_path / "copy"))
    target = targets(checkout.root)[0]
    fault = next(f for f in FAULTS if f.code == code)
    outcome = try_fault(checkout, target, fault)
    assert (outcome.silent, outcome.caught) == (True, True), outcome
    assert {p.name: p.read_text() for p in root.iterdir()} == {p.name: p.read_text() for p in checkout.root.iterdir()}


NOT_THERE = (
    ("CTX002/good/slime_launcher.py", "OVL001", "switched off by a flag", ("x", "x")),
    ("CTX001/good/megatron.sh", "PAR011", "does not train", ("pretrain_gpt.py", "tools/checkpoint/convert.py")),
    (
        "CTX001/good/megatron.sh",
        "PAR006",
        "decoder_seq_length",
        ("--seq-length", "--decoder-seq-length 64 --seq-length"),
    ),
    (
        "CTX002/good/nemo_rl.yaml",
        "RCP001",
        "activation_checkpointing is off",
        ("model_overrides", "activation_checkpointing: false\n    others"),
    ),
)


@pytest.mark.parametrize(("fixture", "code", "reason", "changed"), NOT_THERE, ids=lambda value: str(value)[:30])
def test_a_fault_that_cannot_come_about_is_no_trial(
    fixture: str, code: str, reason: str, changed: tuple[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "source"
    root.mkdir()
    (root / Path(fixture).name).write_text((FIXTURES / fixture).read_text().replace(*changed))
    checkout = Checkout.at(mirror(root, tmp_path / "copy"))
    target = targets(checkout.root)[0]
    with pytest.raises(Unfit, match=reason):
        try_fault(checkout, target, next(f for f in FAULTS if f.code == code))


@pytest.mark.skipif("MESHLINT_UPSTREAM" not in os.environ, reason="MESHLINT_UPSTREAM names no folder of checkouts")
@pytest.mark.parametrize("name", ["slime", "ms-swift"])
def test_faults_in_real_launches(name: str, tmp_path: Path) -> None:
    root = Path(os.environ["MESHLINT_UPSTREAM"]) / name
    if not root.is_dir():
        pytest.skip(f"there is no checkout of {name}")
    checkout = Checkout.at(mirror(root, tmp_path))
    found = targets(checkout.root)
    tried = 0
    for fault in FAULTS:
        target = found[len(fault.code + str(fault.settings)) % len(found)]
        if target.launch.framework in REASONS.get(fault.code, {}):
            continue
        try:
            outcome = try_fault(checkout, target, fault)
        except Unfit:
            continue
        tried += 1
        assert outcome.silent, (fault.code, target.name)
    assert tried
