"""Composition: defaults lists, packages, overrides, interpolation; values, places, and the real hydra beside us."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra_trees import composed, data, lines, plant, real
from hypothesis import given, settings
from hypothesis import strategies as st

from meshlint.config.command import Word
from meshlint.config.hydra.app import Application
from meshlint.config.hydra.app import settings as merge
from meshlint.config.hydra.compose import Folder
from meshlint.config.hydra.items import Marking
from meshlint.config.launch import Launch, Write
from meshlint.config.value import Kind, Origin, State, Value, unknown, written
from meshlint.place import Span

TREE = {
    "main.yaml": """\
defaults:
  - engine: fsdp
  - actor@roles.actor: ${engine}_actor
  - ref@roles.ref: ${engine}_ref
  - optional nothing: here
  - _self_
roles:
  actor:
    tp: 2
seq: 4096
""",
    "megatron_main.yaml": "defaults:\n  - main\n  - override engine: megatron\n  - _self_\nseq: 8192\n",
    "engine/fsdp.yaml": "# @package _global_\nengine: fsdp\n",
    "engine/megatron.yaml": "# @package _global_\nengine: megatron\n",
    "parts/megatron.yaml": "tp: 1\ncp: 1\nsp: true\nextra: {}\n",
    "actor/fsdp_actor.yaml": "size: 8\n",
    "actor/base.yaml": "lr: 1e-6\nname: base\n",
    "actor/megatron_actor.yaml": "defaults:\n  - ../parts@megatron: megatron\n  - base\n  - _self_\nname: megatron\n",
    "ref/fsdp_ref.yaml": "size: ${roles.actor.size}\n",
    "ref/megatron_ref.yaml": """\
defaults:
  - ../parts@megatron: megatron
  - _self_
megatron:
  tp: ${oc.select:roles.actor.megatron.tp,1}
  cp: ${..copy}
  extra: ${oc.select:roles.actor.megatron.extra,{}}
copy: ${roles.actor.megatron.cp}
""",
}


def test_defaults_choose_by_other_choices(tmp_path: Path) -> None:
    context = plant(tmp_path, TREE)
    found = data(composed(context, "main"))
    assert found["engine"] == "fsdp"
    assert found["roles.actor.size"] == found["roles.ref.size"] == 8
    assert found["roles.actor.tp"] == 2
    assert found["seq"] == 4096


def test_an_override_in_the_list_chooses_the_group(tmp_path: Path) -> None:
    found = data(composed(plant(tmp_path, TREE), "megatron_main"))
    assert (found["engine"], found["seq"], found["roles.actor.name"]) == ("megatron", 8192, "megatron")
    assert found["roles.actor.megatron.sp"] is True


def test_a_word_chooses_the_group(tmp_path: Path) -> None:
    found = data(composed(plant(tmp_path, TREE), "main", ["engine=megatron", "roles.actor.megatron.cp=4"]))
    assert found["engine"] == "megatron"
    assert found["roles.ref.megatron.cp"] == 4


def test_every_value_keeps_the_place_where_it_is_written(tmp_path: Path) -> None:
    writes = composed(plant(tmp_path, TREE), "main", ["engine=megatron", "roles.actor.megatron.tp=8", "+new.x=1"])
    assert lines(writes, "roles.actor.megatron.tp") == ["run.sh:2"]
    assert lines(writes, "roles.actor.megatron.sp") == ["parts/megatron.yaml:3"]
    assert lines(writes, "roles.actor.lr") == ["actor/base.yaml:1"]
    assert lines(writes, "new.x") == ["run.sh:3"]


def test_an_interpolated_value_is_edited_where_it_is_referred_to(tmp_path: Path) -> None:
    writes = composed(plant(tmp_path, TREE), "main", ["engine=megatron", "roles.actor.megatron.tp=8"])
    assert lines(writes, "roles.ref.megatron.tp") == ["run.sh:2", "ref/megatron_ref.yaml:5"]
    assert lines(writes, "roles.ref.megatron.cp") == [
        "parts/megatron.yaml:2",
        "ref/megatron_ref.yaml:8",
        "ref/megatron_ref.yaml:6",
    ]


def test_a_referred_section_is_shown_below_both_keys(tmp_path: Path) -> None:
    word = "+roles.actor.megatron.extra.comm=a2a"
    writes = composed(plant(tmp_path, TREE), "main", ["engine=megatron", word])
    assert data(writes)["roles.ref.megatron.extra.comm"] == "a2a"
    assert lines(writes, "roles.ref.megatron.extra.comm") == ["run.sh:2", "ref/megatron_ref.yaml:7"]


def test_a_word_below_a_reference_replaces_it(tmp_path: Path) -> None:
    words = ["engine=megatron", "+roles.actor.megatron.extra.a=1", "+roles.ref.megatron.extra.b=2"]
    found = data(composed(plant(tmp_path, TREE), "main", words))
    assert found["roles.ref.megatron.extra.b"] == 2
    assert "roles.ref.megatron.extra.a" not in found


def test_words_of_one_key_are_kept_in_one_place(tmp_path: Path) -> None:
    writes = [w for w in composed(plant(tmp_path, TREE), "main", ["seq=1", "seq=2"]) if w.key == "seq"]
    assert [(w.value.data, w.same_place) for w in writes] == [(1, False), (2, True)]


def test_duplicate_keys_of_a_file_are_kept_in_one_place(tmp_path: Path) -> None:
    writes = composed(plant(tmp_path, {"a.yaml": "x:\n  cp: 2\n  cp: 4\n"}), "a")
    assert [(w.key, w.value.data, w.same_place) for w in writes] == [("x.cp", 2, False), ("x.cp", 4, True)]


def test_a_merge_key_makes_no_duplicate(tmp_path: Path) -> None:
    text = "a: &a {cp: 2, tp: 1}\nb:\n  <<: *a\n  cp: 4\n"
    writes = composed(plant(tmp_path, {"a.yaml": text}), "a")
    assert [(w.key, w.value.data, w.same_place) for w in writes if w.key.startswith("b")] == [
        ("b.cp", 4, False),
        ("b.tp", 1, False),
    ]


def test_deleting_and_adding(tmp_path: Path) -> None:
    found = data(
        composed(plant(tmp_path, TREE), "main", ["~seq", "~roles.ref", "++roles.actor.tp=4", "+list=[1,{a:2}]"])
    )
    assert "seq" not in found and "roles.ref.size" not in found
    assert found["roles.actor.tp"] == 4
    assert (found["list.0"], found["list.1.a"]) == (1, 2)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["engine=megatron"],
        ["engine=megatron", "roles.actor.megatron.tp=4", "+roles.actor.megatron.extra={a:1,b:[x,2]}"],
        ["actor@roles.actor=base", "engine=megatron"],
        ["+parts@more=megatron", "more.tp=3"],
        ["~ref@roles.ref", "seq=null"],
        ["roles={actor:{tp:5}}", "+roles.x='${seq}'"],
    ],
)
@pytest.mark.parametrize("primary", ["main", "megatron_main"])
def test_hydra_composes_the_same(tmp_path: Path, primary: str, words: list[str]) -> None:
    pytest.importorskip("hydra")
    context = plant(tmp_path, TREE)
    try:
        theirs = real(tmp_path, primary, words)
    except Exception as problem:
        pytest.skip(f"hydra refuses it: {problem}")
    mine = {w.key: w.value.data for w in composed(context, primary, words) if not w.value.is_unknown}
    assert mine == theirs


# What cannot be known -----------------------------------------------------------------------------------------------


def test_a_missing_file_leaves_a_hole_at_its_package(tmp_path: Path) -> None:
    writes = composed(
        plant(tmp_path, {"a.yaml": "defaults:\n  - g@x.y: nowhere\n  - _self_\nz: 1\nx: {y: {k: 2}}\n"}), "a"
    )
    assert writes[0].key == "x.y.*" and "nowhere" in writes[0].value.reason
    launch = frame(writes)
    assert launch("x.y.k").data == 2
    assert launch("x.y.other").is_unknown
    assert launch("z").data == 1


def frame(writes: tuple[Write, ...]):  # type: ignore[no-untyped-def]
    launch = Launch("f", "e", "s", "i", Span("a", 1), writes=writes)

    def find(key: str) -> Value:
        value = launch.find(key)
        assert value is not None
        return value

    return find


def test_a_word_of_unknown_value_is_unknown_with_its_reason(tmp_path: Path) -> None:
    context = plant(tmp_path, TREE)
    dotlist = (
        Word(None, (Origin(Kind.WRITTEN, "seq=$X", Span("run.sh", 3)),), "nobody sets X", "seq="),
        Word(None, (), "the array is not known", several=True),
        Word("roles.actor.tp=4", (Origin(Kind.WRITTEN, "roles.actor.tp=4", Span("run.sh", 5)),)),
    )
    application = Application((Folder("", Marking("test")),), "main")
    find = frame(merge(application, dotlist, context.reader(), context, Span("run.sh", 1)).writes)
    assert find("seq").reason == "the array is not known"
    assert find("roles.actor.size").reason == "the array is not known"
    assert find("roles.actor.tp").data == 4


def test_sweeps_and_functions_are_unknown(tmp_path: Path) -> None:
    found = data(composed(plant(tmp_path, TREE), "main", ["seq=1,2", "+x=range(3)"]))
    assert str(found["seq"]).startswith("? it is a sweep")
    assert "function" in str(found["x"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: ${b}\nb: ${a}\n", "leads back to itself"),
        ("a: ${a}\n", "leads back to itself"),
        ("a: ${nowhere.x}\n", "nothing sets"),
        ("a: ${oc.env:NOWHERE}\n", "environment variable NOWHERE"),
        ("a: ${my.resolver:1}\n", "does not run"),
        ("a: ${eval:'__import__(\"os\")'}\n", "does not run"),
        ("a: ${b\n", "not closed"),
        ("a: ${mul:x,2}\n", "no number"),
        ("a: ${div:1,0}\n", "cannot be computed"),
        ("a: ???\n", "somebody else"),
        ("a: ${......b}\n", "above the top"),
        ("a: " + "${oc.select:" * 60 + "b" + "}" * 60 + "\n", "deeper"),
        ("x: ${b}${b}\nb: {c: 1}\na: x${b}\n", "into a text"),
    ],
)
def test_interpolation_that_cannot_be_known(tmp_path: Path, text: str, says: str) -> None:
    assert says in str(data(composed(plant(tmp_path, {"m.yaml": text}), "m"))["a"])


def test_a_doubling_text_is_cut(tmp_path: Path) -> None:
    text = "a0: xxxxxxxx\n" + "".join(f"a{i}: ${{a{i - 1}}}${{a{i - 1}}}\n" for i in range(1, 30))
    assert "characters" in str(data(composed(plant(tmp_path, {"m.yaml": text}), "m"))["a29"])


def test_a_doubling_section_is_cut(tmp_path: Path) -> None:
    text = "a0: {x: 1, y: 2}\n" + "".join(f"a{i}: {{l: '${{a{i - 1}}}', r: '${{a{i - 1}}}'}}\n" for i in range(1, 30))
    writes = composed(plant(tmp_path, {"m.yaml": text}), "m")
    assert len(writes) < 30_000
    assert any(w.key == "*" and "more keys" in w.value.reason for w in writes)


def test_defaults_that_go_round_end(tmp_path: Path) -> None:
    context = plant(tmp_path, {"a.yaml": "defaults:\n  - b\n  - _self_\nx: 1\n", "b.yaml": "defaults:\n  - a\ny: 2\n"})
    find = frame(composed(context, "a"))
    assert find("x").data == 1
    assert "circle" in find("z").reason


def test_a_file_that_is_not_yaml_is_a_problem_and_a_hole(tmp_path: Path) -> None:
    context = plant(
        tmp_path, {"a.yaml": "defaults:\n  - g: bad\n  - _self_\nx: 1\n", "g/bad.yaml": "{{ jinja }}: {% x\n"}
    )
    find = frame(composed(context, "a"))
    assert find("x").data == 1
    assert "cannot be read" in find("g.anything").reason
    assert [p.span.path for p in context.problems] == ["g/bad.yaml"]


def test_a_path_that_leaves_the_tree_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("token: 1\n")
    context = plant(tmp_path / "tree", {"a.yaml": "defaults:\n  - ../secret\n  - _self_\nx: 1\n"})
    found = data(composed(context, "a"))
    assert "token" not in found and found["x"] == 1
    assert "not found" in str(found["*"])


def test_the_environment_counts_where_it_is_known(tmp_path: Path) -> None:
    text = "a: ${oc.env:CP}\nb: ${oc.env:CP,2}\nc: ${oc.env:NOT,2}\nd: ${oc.env:BAD,2}\n"
    environment = {
        "CP": written("4", Origin(Kind.WRITTEN, "CP=4", Span("run.sh", 2))),
        "BAD": unknown("it is read from a file"),
    }
    writes = composed(plant(tmp_path, {"m.yaml": text}), "m", environment=environment)
    assert data(writes) == {"a": "4", "b": "4", "c": "2", "d": "? it is read from a file"}
    assert lines(writes, "a") == ["run.sh:2", "m.yaml:1"]


def test_defaults_of_a_framework_are_unset_and_no_place_to_edit(tmp_path: Path) -> None:
    context = plant(tmp_path, {"m.yaml": "a: 1\nb: ${a}\n"})
    application = Application((Folder("", Marking("test", default_of="Frame")),), "m")
    writes = merge(application, (), context.reader(), context, Span("run.sh", 1)).writes
    assert [(w.value.state, w.value.data, w.value.span) for w in writes] == [(State.UNSET, 1, None)] * 2
    assert writes[0].value.origins[0].note == "the default of Frame, m.yaml:1"


# Generated, beside the real ones ------------------------------------------------------------------------------------

NAMES = ["a", "b", "c", "d"]
PLAIN = ["1", "2.5", "true", "null", "x", "'4'", "[1, 2]", "{}", "[]", "???", "1e-3"]
NODES = ["${a}", "${b.c}", "x${a.b}", "${.a}", "${..b}", "'${d}'", "${a[b]}", "${b.${a}}", "\\${a}", "{a: '${c}'}"]
CALLS = ["${oc.select:c.d,7}", "${oc.select:a.b}", "${add:1,2}", "${mul:${b},2}", "${max:${a},${b}}"]
SPACED = ["\"${oc.select:q,'w x'}\"", "${oc.select:.b, 3 }"]
SCALARS = st.sampled_from([*PLAIN, *NODES, *CALLS, *SPACED])
MAPS = st.recursive(
    SCALARS,
    lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3),
    max_leaves=8,
)
FILES = st.dictionaries(st.sampled_from(NAMES), MAPS, min_size=1, max_size=4)


def dump(value: object, indent: int = 0) -> str:
    if not isinstance(value, dict):
        return f" {value}\n"
    rows = "".join(f"{'  ' * indent}{key}:{dump(below, indent + 1)}" for key, below in value.items())
    return rows if indent == 0 else f"\n{rows}"


@settings(max_examples=250, deadline=None)
@given(st.lists(FILES, min_size=1, max_size=3))
def test_generated_files_merge_and_resolve_as_omegaconf_does(
    tmp_path_factory: pytest.TempPathFactory, files: list[dict[str, object]]
) -> None:
    omegaconf = pytest.importorskip("omegaconf")
    from hydra_trees import MISSING, REACH, flat

    from meshlint.config.hydra.interpolation import ARITHMETIC

    for name, function in ARITHMETIC.items():
        omegaconf.OmegaConf.register_new_resolver(name, function, replace=True)
    texts = [dump(file) for file in files]
    root = tmp_path_factory.mktemp("omegaconf")
    named = {f"f{i}.yaml": text for i, text in enumerate(texts)}
    named["main.yaml"] = "defaults:\n" + "".join(f"  - f{i}\n" for i in range(len(texts))) + "  - _self_\n"
    context = plant(root, named)
    try:
        theirs = dict(flat(omegaconf.OmegaConf.merge(*(omegaconf.OmegaConf.create(text) for text in texts))))
    except Exception:
        return  # OmegaConf itself refuses the files or their merge
    writes = composed(context, "main")
    found = {w.key: w.value for w in writes}
    holes = [w for w in writes if "*" in w.key]
    holes += [Write(f"{w.key}.*", w.value) for w in writes if w.value.is_unknown]
    for key, value in theirs.items():
        mine = found.get(key)
        if value == MISSING or (value is None and mine is None) or any(hole.reaches(key) for hole in holes):
            continue
        assert mine is not None, (texts, key, value)
        assert mine.is_unknown or same(mine.data, value), (texts, key, value, mine)
    for key, mine in found.items():
        assert mine.is_unknown or key in theirs or key.count(".") > REACH, (texts, key, mine)


def same(mine: object, theirs: object) -> bool:
    return type(mine) is type(theirs) and repr(mine) == repr(theirs)
