import json

import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.presets import PRESETS
from vaescope.settings import (
    dump_yaml,
    experiment,
    from_command_line,
    from_python,
    load_yaml,
    preset,
    settings_of,
)
from vaescope.specs import digest, resolve, to_dict


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid_and_survives_yaml_and_json(name: str) -> None:
    spec = resolve(experiment(preset(name)))
    assert experiment(load_yaml(dump_yaml(to_dict(spec)), "spec")) == spec
    assert experiment(json.loads(json.dumps(to_dict(spec)))) == spec


def test_scalars_mean_the_same_in_yaml_and_on_the_command_line() -> None:
    yaml = load_yaml("a: 1e-4\nb: on\nc: '4'\nd: [1, x]\ne:\nf: true\ng: NaN", "here")
    assert yaml == {"a": 1e-4, "b": "on", "c": "4", "d": [1, "x"], "e": None, "f": True, "g": "NaN"}


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("objective.betta=4", "Did you mean objective.beta"),
        ("objective.beta=yes", "objective.beta must be a number"),
        ("objective.beta=true", "objective.beta must be a number"),
        ("objective.beta=-1", "objective.beta must be greater than or equal to 0"),
        ("objective.beta=NaN", "objective.beta must be a number"),
        ("objective.name=betavae", "objective.name must be one of"),
        ("steps=2.5", "steps must be a whole number"),
        ("steps=0", "steps must be greater than or equal to 1"),
        ("stepz=5", "Did you mean steps"),
        ("data.name=dsprite", "data.name must be one of"),
        ("data.size=48", "data.size must be one of"),
        ("beta", "is not a setting"),
        ("optimiser.lr={\"name\": \"linear\"}", "optimiser.lr.start is missing"),
        ("optimiser.lr={\"name\": \"linea\"}", "optimiser.lr must be a number, or a schedule"),
        ("net.encoder=3", "There is no setting net.encoder"),
        ("objective=3", "objective must be a group of keys"),
        ("optimiser.betas=[1, 2]", "optimiser.betas must be less than 1; got 1"),
        ("optimiser.betas=[0.9]", r"optimiser.betas must be a list of 2; got \[0.9\]"),
        ("optimiser.betas=[0.9, 0.9, 0.9]", "optimiser.betas must be a list of at most 2"),
        ("data.grid.shape=[0, \"a\"]", "data.grid.shape must be a whole number; got \"a\""),
        (
            "optimiser.lr={\"name\": \"linear\", \"start\": -1, \"stop\": 1, \"steps\": 5}",
            "optimiser.lr.start must be greater than or equal to 0; got -1",
        ),
    ],
)  # fmt: skip
def test_bad_settings_say_what_was_wanted(setting: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        from_command_line("beta-vae", [setting])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("grid: {seed: [0, 1], seed: [2]}", r"gives seed twice \(line 1\)"),
        ("a: 1\nb: [{c: 1}, {c: 1, c: 2}]", r"gives c twice \(line 2\)"),
        ("a: &x {b: 1}\nc: *x\na: 2", r"gives a twice \(line 3\)"),
    ],
)
def test_a_key_given_twice_in_yaml_is_refused_not_lost(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_yaml(text, "sweep.yaml")


def test_numbers_and_lists_of_numpy_are_plain_settings() -> None:
    spec = from_python(
        "beta-vae",
        {"name": "dsprites", "size": np.int64(32), "grid": {"shape": np.array([0, 2])}},
        {"seed": np.int64(3), "lr": np.float32(0.5), "betas": (0.5, np.float64(0.75))},
    )
    settings = ["data.size=32", "data.grid.shape=[0, 2]", "seed=3", "optimiser.lr=0.5"]
    same = from_command_line("beta-vae", [*settings, "optimiser.betas=[0.5, 0.75]"])
    assert digest(spec) == digest(same)


def test_what_is_no_plain_value_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"objective\.beta must be plain values; got <object"):
        from_python("beta-vae", None, {"beta": object()})


def test_a_new_name_resets_the_other_keys_of_its_group_in_any_order() -> None:
    a = from_command_line("beta-vae", ["data.n=100", "data.name=synth-linear"])
    b = from_command_line("beta-vae", ["data.name=synth-linear", "data.n=100"])
    assert a == b
    assert a.data.model_dump() == {
        "name": "synth-linear", "n": 100, "ratio": 2.0, "generator_seed": 0,
    }  # fmt: skip


def test_the_digest_sees_what_matters_and_nothing_else() -> None:
    def of(*settings: str) -> str:
        return digest(from_command_line("beta-vae", list(settings)))

    assert of() == of("objective.beta=4.0") == of("logging.every=7") == of("net.name=conv")
    assert of("steps=3e5") == of("steps=300000") == of()
    different = [of("seed=1"), of("objective.beta=5"), of("precision=fp32"), of("batch=32"), of()]
    assert len(set(different)) == len(different)


def test_settings_that_came_later_are_left_out_at_their_defaults() -> None:
    """So that what was trained before keeps its digest."""
    plain = to_dict(from_command_line("beta-vae", []))
    assert "amsgrad" not in plain["optimiser"]
    assert not {"split", "pruned"} & plain.keys()
    chosen = from_command_line(
        "beta-vae", ["optimiser.amsgrad=true", "split.shares=[0.9, 0, 0.1]", "split.seed=2"]
    )
    content = to_dict(chosen)
    assert content["optimiser"]["amsgrad"] is True
    assert content["split"] == {"shares": [0.9, 0.0, 0.1], "seed": 2}
    assert digest(chosen) != digest(from_command_line("beta-vae", []))
    assert digest(from_command_line("beta-vae", ["optimiser.amsgrad=false"])) == digest(
        from_command_line("beta-vae", [])
    )


def test_auto_follows_the_data() -> None:
    def names(*settings: str) -> tuple[str, str]:
        spec = resolve(from_command_line("beta-vae", list(settings)))
        return spec.net.name, spec.likelihood.name

    assert names() == ("conv", "bernoulli")
    assert names("data.name=synth-linear") == ("linear", "squared-error")
    assert names("data.name=synth-nonlinear") == ("mlp", "squared-error")
    assert names("data.name=linear-gaussian") == ("mlp", "squared-error")


def test_bare_names_must_match_one_setting() -> None:
    assert from_python("beta-vae", None, {"beta": 2}).objective.model_dump()["beta"] == 2
    assert from_python("demo", None, {"lr": 0.1}).optimiser.model_dump()["lr"] == 0.1
    with pytest.raises(UsageError, match=r"data\.name.*objective\.name"):
        from_python("beta-vae", None, {"name": "x"})
    with pytest.raises(UsageError, match="Did you mean beta"):
        from_python("beta-vae", None, {"betta": 2})
    with pytest.raises(UsageError, match=r"objective\.name=vae has no beta"):
        from_python("vae", None, {"beta": 2})
    assert from_python("vae", None, {"objective.name": "beta-vae"}).objective.name == "beta-vae"


def test_an_autoencoder_and_a_rate_do_not_mix() -> None:
    with pytest.raises(UsageError, match="cannot be combined with"):
        resolve(from_command_line("ae", ["posterior.name=diagonal"]))


def test_a_newer_format_is_refused() -> None:
    with pytest.raises(UsageError, match="format 2"):
        experiment({"format": 2, **preset("vae")})


def test_all_dotted_keys_are_known() -> None:
    assert {"objective.beta", "data.size", "steps", "optimiser.lr"} <= set(settings_of())


def test_a_setting_given_nested_and_dotted_is_refused() -> None:
    with pytest.raises(UsageError, match=r"net\.name was given twice"):
        from_python("vae", None, {"net": {"name": "mlp"}, "net.name": "linear"})
    both = from_python("vae", None, {"net": {"name": "mlp"}, "net.encoder": [8]})
    assert to_dict(both)["net"]["encoder"] == [8]


def test_one_width_is_that_of_every_layer_nested_or_dotted() -> None:
    nested = from_python("vae", None, {"net": {"name": "mlp", "width": 64}})
    assert nested == from_python("vae", None, {"net.name": "mlp", "net.width": 64})
    assert nested == from_command_line("vae", ["net.name=mlp", "net.width=64"])
    assert nested == from_python(
        "vae", None, {"net": {"name": "mlp", "encoder": [64, 64], "decoder": [64, 64]}}
    )
    deep = from_python("vae", None, {"net": {"name": "mlp", "encoder": [8, 8, 8], "width": 16}})
    assert to_dict(deep)["net"]["encoder"] == [16, 16, 16]
    for wrong in (0, "wide", None):
        with pytest.raises(UsageError, match="net must be"):
            from_python("vae", None, {"net": {"name": "mlp", "width": wrong}})
