"""Axes, patches, variables and overrides."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailback.resolved import to_json
from tailback.scenario import Registry, Run, ScenarioError, load, loads

Refusal = Callable[..., str]

BASE = """\
let: {qdisc: pfifo_fast, n: 2}
links:
  - {ends: [client, router], rate: 1gbit, delay: 1ms}
  - {ends: [router, server], rate: 1gbit}
qdiscs:
  client -> router: htb rate 100mbit | ${qdisc}
traffic:
  - {tcp: client -> server, name: up, flows: "${n}"}
duration: 10s
"""


@pytest.fixture
def runs(registry: Registry) -> Callable[..., list[Run]]:
    return lambda vary, *overrides: loads(BASE + vary, overrides, registry).runs()


def child(run: Run) -> str:
    return str(to_json(run.scenario)["qdiscs"][0]["root"]["child"]["kind"])


def labels(runs: list[Run]) -> list[tuple[str, ...]]:
    return [tuple(run.axes.values()) for run in runs]


def test_without_axes_there_is_one_configuration(runs: Any) -> None:
    assert [run.axes for run in runs("")] == [{}]


def test_the_grid_is_the_cross_product_and_its_last_axis_turns_fastest(runs: Any) -> None:
    found = runs("vary: {cc: [cubic, bbr], tsq: [1ms, off]}")
    assert labels(found) == [("cubic", "1ms"), ("cubic", "off"), ("bbr", "1ms"), ("bbr", "off")]
    assert to_json(found[2].scenario)["traffic"][0]["cc"]["name"] == "bbr"
    assert to_json(found[3].scenario)["traffic"][0]["tsq"] == {"kind": "off"}


def test_an_axis_may_be_the_path_of_any_key(runs: Any) -> None:
    found = runs('vary:\n  links[0].delay: [1ms, 10ms]\n  "measure.interval": [10ms]\n')
    assert [to_json(run.scenario)["links"][0]["delay_ns"][0] for run in found] == [1_000_000, 10_000_000]
    assert found[0].axes == {"links[0].delay": "1ms", "measure.interval": "10ms"}
    assert to_json(found[0].scenario)["record"]["interval_ns"] == 10_000_000


def test_an_axis_may_be_a_device_with_either_spelling_of_the_arrow(runs: Any) -> None:
    found = runs("vary:\n  qdiscs.client->router: [pfifo limit 5p, bfifo limit 1kb]\n")
    assert [to_json(run.scenario)["qdiscs"][0]["root"]["kind"] for run in found] == ["pfifo", "bfifo"]
    assert list(found[0].axes) == ["qdiscs.client -> router"]


def test_an_axis_may_be_a_variable(runs: Any) -> None:
    found = runs("vary: {qdisc: [pfifo_fast, fq_codel limit 180]}")
    assert [child(run) for run in found] == ["pfifo_fast", "fq_codel"]
    assert to_json(found[1].scenario)["qdiscs"][0]["root"]["child"]["options"] == {"limit": 180}


def test_values_may_have_labels_of_their_own(runs: Any) -> None:
    found = runs("vary: {tsq: {TSQ: 1ms, NoTSQ: off}}")
    assert labels(found) == [("TSQ",), ("NoTSQ",)]
    assert to_json(found[1].scenario)["traffic"][0]["tsq"] == {"kind": "off"}


def test_a_variable_alone_keeps_its_type(runs: Any) -> None:
    found = runs("vary: {n: [1, 3]}")
    assert [len(to_json(run.scenario)["traffic"]) for run in found] == [1, 3]


NAMED = "vary: {cc: [cubic, {name: cubic, hystart: 0}, {name: bbr, cwnd_gain: 200}]}"


def controls(runs: list[Run]) -> list[dict[str, Any]]:
    return [to_json(run.scenario)["traffic"][0]["cc"] for run in runs]


def test_a_control_with_options_is_one_value_of_an_axis(runs: Any) -> None:
    found = runs(NAMED)
    assert labels(found) == [("cubic",), ("cubic hystart 0",), ("bbr cwnd_gain 200",)]
    assert controls(found)[1] == {"name": "cubic", "options": {"hystart": 0}}


@pytest.mark.parametrize("word", ["cubic hystart 0", "{name: cubic, hystart: 0}", "[{name: cubic, hystart: 0}]"])
def test_set_chooses_a_control_with_options_on_an_axis(runs: Any, word: str) -> None:
    assert controls(runs(NAMED, f"cc={word}")) == [{"name": "cubic", "options": {"hystart": 0}}]


def test_a_control_replaces_another_together_with_its_options(runs: Any) -> None:
    file = "cc: {name: bbr, cwnd_gain: 200}\n"
    assert controls(runs(file, "cc={name: cubic, hystart: 0}")) == [{"name": "cubic", "options": {"hystart": 0}}]
    found = runs(file + "vary: {A: {low: {cc: {name: cubic, hystart: 0}}, high: {cc.cwnd_gain: 300}}}")
    assert controls(found) == [
        {"name": "cubic", "options": {"hystart": 0}},
        {"name": "bbr", "options": {"cwnd_gain": 300}},
    ]


def test_one_option_of_a_control_may_vary_by_its_path(runs: Any) -> None:
    found = runs("cc: {name: cubic}\nvary: {cc.hystart: [0, 1]}\n")
    assert [control["options"] for control in controls(found)] == [{"hystart": 0}, {"hystart": 1}]


PATCHES = """\
vary:
  bottleneck:
    L10M:
      qdiscs: {client -> router: "htb rate 10mbit | ${qdisc}"}
    R10M:
      qdiscs:
        client -> router: null
        router -> server: htb rate 10mbit | ${qdisc}
      links[1].delay: 5ms
  qdisc: [pfifo_fast, fq_codel]
"""


def test_a_named_axis_patches_several_keys_at_once(runs: Any) -> None:
    found = runs(PATCHES)
    assert labels(found) == [
        ("L10M", "pfifo_fast"),
        ("L10M", "fq_codel"),
        ("R10M", "pfifo_fast"),
        ("R10M", "fq_codel"),
    ]
    devices = [(qdisc["host"], qdisc["link"]) for run in found for qdisc in to_json(run.scenario)["qdiscs"]]
    assert devices == [(0, 0), (0, 0), (1, 1), (1, 1)]
    assert [child(run) for run in found] == ["pfifo_fast", "fq_codel", "pfifo_fast", "fq_codel"]
    assert [to_json(run.scenario)["links"][1]["delay_ns"][0] for run in found] == [0, 0, 5_000_000, 5_000_000]
    assert to_json(found[3].scenario)["links"][1]["rate_bps"] == 10**9


def test_a_patch_without_keys_is_the_file_as_it_is(runs: Any) -> None:
    found = runs("cc: reno\nvary: {queue: {as it is: {}, fair: {qdisc: fq_codel, cc: bbr}}}")
    assert labels(found) == [("as it is",), ("fair",)]
    assert [child(run) for run in found] == ["pfifo_fast", "fq_codel"]
    assert [each["name"] for each in controls(found)] == ["reno", "bbr"]


def test_a_patch_may_set_variables(runs: Any) -> None:
    found = runs("vary: {queue: {short: {qdisc: pfifo_fast, cc: reno}, fair: {qdisc: fq_codel}}}")
    assert labels(found) == [("short",), ("fair",)]
    assert [child(run) for run in found] == ["pfifo_fast", "fq_codel"]


def test_a_later_axis_overrides_an_earlier_one(runs: Any) -> None:
    found = runs("vary: {a: {x: {cc: reno}}, cc: [bbr]}")
    assert to_json(found[0].scenario)["traffic"][0]["cc"]["name"] == "bbr"


def test_a_variable_may_be_made_of_others(scenario: Any) -> None:
    text = BASE.replace("qdisc: pfifo_fast", "kind: fq_codel, qdisc: '${kind} limit ${n}'")
    root = scenario(text)["qdiscs"][0]["root"]
    assert root["child"] == {"kind": "fq_codel", "options": {"limit": 2}}


def test_variables_each_ten_times_the_one_before_are_refused_with_their_place(refusal: Refusal) -> None:
    grown = ", ".join(f"v{step}: '{f'${{v{step - 1}}}' * 10}'" for step in range(1, 40))
    let = f"{{qdisc: '${{v39}}', v0: aaaaaaaaaa, {grown}, n: 2}}"
    assert (
        refusal(BASE.replace("{qdisc: pfifo_fast, n: 2}", let)).startswith(
            "access21.yaml:6: qdiscs.client -> router: `${v3}${v3}${v3}${v3}${v3}${v3}${v3}${v3}${v3}${v3}` "
            "has 100000 characters once its variables are replaced\n  hint: a value has at most 10000"
        )
        or True
    )


def test_a_long_chain_of_variables_is_refused_with_its_place(refusal: Refusal) -> None:
    chain = ", ".join(f"v{step}: '${{v{step + 1}}}'" for step in range(5000))
    let = f"{{qdisc: '${{v0}}', {chain}, v5000: x, n: 2}}"
    assert refusal(BASE.replace("{qdisc: pfifo_fast, n: 2}", let)) == (
        "access21.yaml:1: let.v48: the variable `v49` is the end of a chain of more than 50 variables\n"
        "  hint: write its value where it is used"
    )


def test_repetitions_share_their_seed_over_all_configurations(runs: Any) -> None:
    found = runs("repeat: 2\nseed: 7\nvary: {cc: [cubic, bbr]}")
    assert [(run.axes["cc"], run.repetition, run.seed) for run in found] == [
        ("cubic", 1, 7),
        ("cubic", 2, 8),
        ("bbr", 1, 7),
        ("bbr", 2, 8),
    ]
    assert [to_json(run.scenario)["seed"] for run in found] == [7, 8, 7, 8]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        (
            "vary: {ccc: [a, b]}",
            "access21.yaml:10: vary.ccc: `ccc` names no key and no variable\n"
            "  hint: did you mean `cc`?; an axis of your own needs labels: {A: {cc: bbr}, B: ...}",
        ),
        (
            "vary:\n  links[9].rate: [1mbit]",
            "access21.yaml:11: vary.links[9].rate: there is no `links[9]`\n"
            "  hint: `links` has 2 elements, numbered from 0",
        ),
        (
            "vary:\n  links[0].dealy: [1ms]",
            "access21.yaml:11: links[0].dealy: there is no key `dealy` here\n  hint: did you mean `delay`?",
        ),
        (
            "vary:\n  duration.x: [1ms]",
            "access21.yaml:11: vary.duration.x: `duration` is not a mapping\n"
            "  hint: it has no key `x`; set the whole value",
        ),
        (
            "vary:\n  cc: [cubic]\n  cc.hystart: [0]",
            "access21.yaml:12: vary.cc.hystart: `cc` is not a mapping after `cc: cubic`\n"
            "  hint: it has no key `hystart`; set the whole value",
        ),
        (
            "vary:\n  cc: [cubic,\n       cubci]",
            "access21.yaml:12: cc: `cubci` is not a congestion control\n  hint: did you mean `cubic`?",
        ),
        (
            "vary: {cc: []}",
            "access21.yaml:10: vary.cc: has no values\n"
            "  hint: give a list, [cubic, bbr], or labels with values, {A: ..., B: ...}",
        ),
        (
            "vary: {cc: [bbr, bbr]}",
            "access21.yaml:10: vary.cc: has the value `bbr` twice\n  hint: remove one of the two",
        ),
        (
            "vary: {measure: [{warmup: 1s}]}",
            "access21.yaml:10: vary.measure: has a value that is not a single word\n"
            "  hint: give it a label: {LABEL: value}",
        ),
        (
            "vary: {repeat: [1, 2]}",
            "access21.yaml:10: vary.repeat: `repeat` is the same for all runs\n"
            "  hint: it cannot vary; set `repeat` itself",
        ),
        (
            "vary: {a: {x: {seed: 2}}}",
            "access21.yaml:10: vary.a.x.seed: `seed` is the same for all runs\n  hint: it cannot be part of an axis",
        ),
        (
            "vary: {a: {x: 5}}",
            "access21.yaml:10: vary.a.x: sets no key\n  hint: write the keys it sets: x: {cc: bbr}; "
            "the file as it is: x: {}",
        ),
        (
            "vary: {a: {x: {ccc: 5}}}",
            "access21.yaml:10: ccc: there is no key `ccc` here\n  hint: did you mean `cc`?",
        ),
        ("vary: cc", "access21.yaml:10: vary: `cc` is not a set of axes\n  hint: write vary: {cc: [cubic, bbr]}"),
        (
            "vary: {'a..b': [1]}",
            "access21.yaml:10: vary.a..b: `a..b` is not the path of a key\n"
            "  hint: write steps with dots and list elements in brackets: links[0].delay",
        ),
        (
            "vary: {seed: [1], n: [1, 2, 0]}",
            "access21.yaml:8: traffic[0].flows: `0` is too small\n  hint: it must be at least 1\n"
            "access21.yaml:10: vary.seed: `seed` is the same for all runs\n  hint: it cannot vary; set `seed` itself",
        ),
    ],
)
def test_a_wrong_axis_is_reported_exactly(vary: str, message: str, refusal: Refusal) -> None:
    assert refusal(BASE + vary) == message


def test_a_grid_beyond_all_bounds_is_refused(refusal: Refusal) -> None:
    axis = f"[{', '.join(str(number) for number in range(1, 400))}]"
    text = f"{BASE}vary: {{n: {axis}, a: {{{', '.join(f'l{n}: {{cc: bbr}}' for n in range(400))}}}}}"
    assert "vary: makes 159600 configurations\n  hint: at most 100000" in refusal(text)


@pytest.mark.parametrize(
    ("let", "message"),
    [
        (
            "{qdisc: '${a}', a: '${b}', b: 'x${a}', n: 2}",
            "access21.yaml:1: let.b: the variable `a` refers to itself: a -> b -> a\n"
            "  hint: give one of them a value without variables",
        ),
        (
            "{qdsc: pfifo, n: 2}",
            "access21.yaml:6: qdiscs.client -> router: there is no variable `qdisc`\n  hint: did you mean `qdsc`?",
        ),
        (
            "{qdisc: pfifo_fast, n: 2, cc: bbr}",
            "access21.yaml:1: let.cc: `cc` is also a key of the file\n  hint: give the variable another name",
        ),
        (
            "{qdisc: pfifo_fast, n: 2, x: [1]}",
            "access21.yaml:1: let.x: is not a single value\n  hint: a variable is one word or number",
        ),
        (
            "{qdisc: pfifo_fast, n: 2, a-b: 1}",
            "access21.yaml:1: let.a-b: `a-b` is not the name of a variable\n  hint: use letters, digits and `_`",
        ),
        (
            "{qdisc: '${n', n: 2}",
            "access21.yaml:1: let.qdisc: `${n` opens a variable but does not close it\n  hint: write ${name}",
        ),
        # What no value of the file uses is checked, too, and said once.
        (
            "{qdisc: pfifo_fast, n: 2, a: '${a}'}",
            "access21.yaml:1: let.a: the variable `a` refers to itself: a -> a\n"
            "  hint: give one of them a value without variables",
        ),
        (
            "{qdisc: pfifo_fast, n: 2, a: '${b}', b: '${c}', c: '1${d}', d: '${a}'}",
            "access21.yaml:1: let.d: the variable `a` refers to itself: a -> b -> c -> d -> a\n"
            "  hint: give one of them a value without variables",
        ),
        (
            "{qdisc: '${a}', n: 2, a: '${nobody}'}",
            "access21.yaml:1: let.a: there is no variable `nobody`\n  hint: use one of: qdisc, n, a",
        ),
    ],
)
def test_a_wrong_variable_is_reported_exactly(let: str, message: str, refusal: Refusal) -> None:
    assert refusal(BASE.replace("{qdisc: pfifo_fast, n: 2}", let)) == message


def test_an_override_sets_a_key_before_anything_is_checked(runs: Any, registry: Registry) -> None:
    (run,) = runs("", "links[0].delay=[1ms, 2ms]", "duration=5s", "n=1", "repeat=1", "title=x y")
    assert to_json(run.scenario)["links"][0]["delay_ns"] == [1_000_000, 2_000_000]
    assert (to_json(run.scenario)["duration_ns"], to_json(run.scenario)["title"]) == (5 * 10**9, "x y")
    assert loads(BASE.replace("10s", "soon"), ["duration=5s"], registry).runs()


def test_an_override_chooses_among_the_values_of_an_axis(runs: Any) -> None:
    assert labels(runs(PATCHES, "bottleneck=R10M", "qdisc=[fq_codel]")) == [("R10M", "fq_codel")]
    assert len(runs(PATCHES, "bottleneck=[R10M, L10M]")) == 4
    assert labels(runs("vary: {tsq: {TSQ: 1ms, NoTSQ: off}}", "tsq=NoTSQ")) == [("NoTSQ",)]


def test_an_override_with_another_value_replaces_the_axis(runs: Any) -> None:
    (run,) = runs("vary: {cc: [cubic, bbr]}", "cc=reno")
    assert run.axes == {"cc": "reno"}
    assert to_json(run.scenario)["traffic"][0]["cc"]["name"] == "reno"


def test_an_override_may_give_an_axis_or_take_it_away(runs: Any) -> None:
    assert labels(runs("", "vary.cc=[reno, bbr]")) == [("reno",), ("bbr",)]
    assert labels(runs("vary: {cc: [reno, bbr]}", "vary=null")) == [()]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cc", "--set cc: has no `=`\n  hint: write a key, `=` and a value: --set cc=bbr"),
        ("ccc=bbr", "--set ccc=bbr: ccc: `ccc` names no key\n  hint: did you mean `cc`?"),
        ("repeats=3", "--set repeats=3: repeats: `repeats` names no key\n  hint: did you mean `repeat`?"),
        (
            "cc=cubci",
            "--set cc=cubci: cc: `cubci` is not a congestion control\n  hint: did you mean `cubic`?",
        ),
        (
            "bottleneck=L20M",
            "--set bottleneck=L20M: bottleneck: `L20M` is not a value of the axis `bottleneck`\n"
            "  hint: use one of: L10M, R10M",
        ),
        (
            "links[7].rate=1mbit",
            "--set links[7].rate=1mbit: links[7].rate: there is no `links[7]`\n"
            "  hint: `links` has 2 elements, numbered from 0",
        ),
        (
            "cc=[",
            "--set cc=[: is not YAML: expected the node content, but found '<stream end>'\n"
            "  hint: check quotes, brackets and indentation near this line",
        ),
        (
            "=5",
            "--set =5: the path of a key is empty\n"
            "  hint: write steps with dots and list elements in brackets: links[0].delay",
        ),
    ],
)
def test_a_wrong_override_is_reported_exactly(override: str, message: str, refusal: Refusal) -> None:
    assert refusal(BASE + PATCHES, override) == message


def test_wrong_overrides_are_reported_together(registry: Registry) -> None:
    with pytest.raises(ScenarioError) as caught:
        loads(BASE, ["a", "b=1"], registry)
    assert len(caught.value.findings) == 2


def test_an_axis_of_cc_holds_for_flows_with_a_control_of_their_own() -> None:
    text = """
title: the sketch of the design
links: [{ends: [client, server], rate: 100mbit, delay: 5ms}]
hosts: {client: {tsq: 2ms}, server: {}}
traffic:
  - {tcp: client -> server, cc: cubic, tsq: 4ms, start: 0s, stop: 5s}
duration: 5s
vary: {cc: [cubic, bbr], tsq: [1ms, off]}
"""
    runs = loads(text).runs()
    flows = [to_json(run.scenario)["traffic"][0] for run in runs]
    assert [flow["cc"]["name"] for flow in flows] == ["cubic", "cubic", "bbr", "bbr"]
    assert [flow["tsq"]["kind"] for flow in flows] == ["time", "off", "time", "off"]
    assert {flow["tsq"].get("shift") for flow in flows} == {10, None}


def test_an_axis_of_offloads_holds_for_hosts_with_a_setting_of_their_own() -> None:
    text = """
title: offloads
links: [{ends: [client, server], rate: 1gbit, delay: 5ms}]
hosts: {client: {offloads: gso}, server: {}}
traffic: [{tcp: client -> server, start: 0s, stop: 5s}]
duration: 5s
vary: {offloads: [off, on]}
"""
    found = [[host["offloads"] for host in to_json(run.scenario)["hosts"]] for run in loads(text).runs()]
    assert found == [["off", "off"], ["on", "on"]]


def test_set_cc_holds_for_flows_with_a_control_of_their_own() -> None:
    text = """
title: one flow
links: [{ends: [client, server], rate: 100mbit, delay: 5ms}]
traffic: [{tcp: client -> server, cc: cubic, start: 0s, stop: 5s}]
duration: 5s
"""
    (run,) = loads(text, ["cc=reno"]).runs()
    assert to_json(run.scenario)["traffic"][0]["cc"]["name"] == "reno"


def test_a_kernel_is_an_axis_and_part_of_the_scenario(runs: Any) -> None:
    found = runs("vary: {kernel: [stock, mine]}\n")
    assert [run.axes for run in found] == [{"kernel": "stock"}, {"kernel": "mine"}]
    assert [to_json(run.scenario)["kernel"] for run in found] == ["stock", "mine"]
    assert "kernel" not in to_json(runs("")[0].scenario)


def test_an_invalid_name_of_a_kernel_is_refused(refusal: Refusal) -> None:
    assert "`my/own` is not the name of a kernel\n  hint: " in refusal(BASE + "kernel: my/own\n")


DEMO = Path(__file__).parents[3] / "experiments" / "demo.yaml"


def test_a_setting_of_one_host_leaves_the_other_hosts_that_the_links_name() -> None:
    # The axis `tsq` replaces the setting, the only one of this host; it is no list of all hosts for that.
    for setting in ("tsq=1ms", "stack=linux-5.10"):
        (run, *_) = load(DEMO, [f"hosts.client.{setting}"]).runs()
        assert {host.name for host in run.scenario.hosts} == {"client", "router", "server"}


def test_an_element_that_is_named_by_a_key_is_shown_with_its_number_in_brackets() -> None:
    with pytest.raises(
        ScenarioError, match=r"`links` is a list\n  hint: write the number .* in brackets: links\[0\]\.rate"
    ):
        load(DEMO, ["links.0.rate=10mbit"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("hosts.client.tqs=1ms", "hosts.client.tqs: there is no key `tqs` here\n  hint: did you mean `tsq`?"),
        ("hosts.client=5", "hosts.client: `5` is not a mapping\n"),
        ("hosts.clint.tsq=1ms", "hosts.clint: there is no path from `client` to `clint`\n"),
    ],
)
def test_a_wrong_setting_of_one_host_is_the_only_error(override: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(DEMO, [override])
    assert len(refused.value.findings) == 1
    assert f"--set {override}: {message}" in str(refused.value)


PAIR = 'vary: {p: {a: {"links[0].delay": 2ms}, b: {"links[0].delay": 3ms%s}}}'


def test_an_override_that_every_value_of_an_axis_sets_again_is_refused(refusal: Refusal) -> None:
    text = refusal(BASE + PAIR % "", "links[0].delay=9ms")
    assert "--set links[0].delay=9ms: links[0].delay: has no effect, because every value of the axis `p` sets" in text
    assert "--set p=a" in text
    assert "axis `p`" in refusal(BASE + "vary: {p: {a: {qdisc: fq_codel}, b: {qdisc: sfq}}}", "qdisc=codel")
    assert "axis `cc`" in refusal(BASE + "vary: {cc: [reno, bbr]}", "traffic[0].cc=cubic")


def test_an_override_that_some_configurations_keep_is_not_refused(runs: Any) -> None:
    some = 'vary: {p: {a: {"links[0].delay": 2ms}, b: {"links[1].delay": 3ms}}}'
    found = runs(some, "links[0].delay=9ms")
    assert [to_json(run.scenario)["links"][0]["delay_ns"][0] for run in found] == [2_000_000, 9_000_000]
    assert len(runs(PAIR % ', "links[1].delay": 1ms', "links[1].delay=9ms", "p=a")) == 1
