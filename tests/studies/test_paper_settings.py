"""The `paper` scales and the presets have the papers' settings, or say why they have not."""

from collections.abc import Mapping
from typing import Any

import pytest

from vaescope.data import CARDS
from vaescope.presets import PRESETS
from vaescope.settings import from_command_line
from vaescope.specs import Experiment, resolve
from vaescope.studies.catalogue import STUDIES, find
from vaescope.studies.paper_settings import FOLLOWERS, OWN, PRINTED, Follower
from vaescope.studies.study import Computed, Trained
from vaescope.studies.zietlow2022.synthetic import thesis
from vaescope.sweeps.grid import plan


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        found[prefix + name] = value
    return found


def epochs(spec: Experiment) -> float:
    """Passes over the training rows."""
    settings = flat(spec.model_dump(mode="json"))
    rows = settings.get("data.n", CARDS[spec.data.name].n)
    share = 1.0 if spec.split is None else spec.split.shares[0]
    return spec.steps * spec.batch / (rows * share)


def experiments(follower: Follower) -> tuple[list[Experiment], int]:
    """What a follower trains, of the cells whose labels fit: one for each setting but the seeds,
    and how many seeds there are."""
    if follower.name in PRESETS:
        return [from_command_line(follower.name, [])], 1
    (study,) = find(follower.name)
    work = study.work("paper")
    assert isinstance(work, Trained)
    fit = [
        dict(cell.settings)
        for cell in work.cells
        if all(cell.columns.get(key) == value for key, value in follower.labels.items())
    ]
    assert fit, f"{follower.name} has no cell with {follower.labels}"
    seeds = {settings["seed"] for settings in fit}
    one = {
        repr({k: v for k, v in settings.items() if k not in ("seed", "data.generator_seed")}):
        settings for settings in fit
    }  # fmt: skip
    return list(plan(list(one.values()))), len(seeds)


def actual(specs: list[Experiment], key: str) -> set[str]:
    """All values of a setting, as text; none where an experiment has no such setting."""
    if key == "strengths":
        return {str(len({repr(flat(s.model_dump())["objective.beta"]) for s in specs}))}
    if key == "epochs":
        return {str(round(epochs(spec), 1)) for spec in specs}
    return {repr(_plain(flat(resolve(s).model_dump(mode="json")), key)) for s in specs}


def _plain(settings: Mapping[str, Any], key: str) -> Any:
    defaults = {"optimiser.amsgrad": False, "data.initialisation": "normal"}
    # The objective `vae` is the beta-VAE with beta 1.
    if key == "objective.beta" and settings["objective.name"] == "vae":
        return 1.0
    return settings.get(key, defaults.get(key))


@pytest.mark.parametrize("follower", FOLLOWERS, ids=lambda f: f"{f.name} {dict(f.labels)}")
def test_printed_settings_are_followed_or_departed_from_with_a_reason(follower: Follower) -> None:
    specs, seeds = experiments(follower)
    differing = set()
    for key, value in PRINTED[follower.printed].values.items():
        if key == "seeds":
            if seeds != value and follower.name not in PRESETS:  # a preset is one run
                differing.add(key)
            continue
        wanted = str(round(float(value), 1)) if key == "epochs" else repr(value)
        if actual(specs, key) != {wanted}:
            differing.add(key)
    assert differing == set(follower.departures), f"of {PRINTED[follower.printed].place}"


def test_every_study_and_preset_is_in_the_table() -> None:
    known = {follower.name for follower in FOLLOWERS}
    names = {study.id for study in STUDIES} | set(PRESETS)
    assert known | set(OWN) == names
    assert not known & set(OWN)
    assert {follower.printed for follower in FOLLOWERS} == set(PRINTED)


def test_every_cell_of_a_following_study_is_compared() -> None:
    """Labels that fit no follower would hide a setting; the released variant of figure 3, the
    normal that Student-t priors tend to, controls that are not trained or forbid what a figure
    shows, and rows beside a paper's table (other strengths, for equal distortion) are named."""
    allowed = [
        {"row": "beta, released"}, {"prior": "normal"}, {"method": "ae"}, {"method": "random"},
        {"optimiser.lr": 0.0, "steps": 1}, {"table": False}, {"family": "dip-vae-i"},
    ]  # fmt: skip
    for name in {follower.name for follower in FOLLOWERS} - set(PRESETS):
        (study,) = find(name)
        own = [f.labels for f in FOLLOWERS if f.name == name]
        for cell in study.work("paper").cells:
            fits = any(
                all(cell.columns.get(key) == value for key, value in labels.items())
                for labels in [*own, *allowed]
            )
            assert fits, f"{name}: {cell.labels}"


def test_epochs_and_batch_of_the_thesis_agree() -> None:
    """600 epochs of four fifths of 50,000 rows: 375,000 steps are those of a batch of 64."""
    for task in ("linear", "nonlinear"):
        (spec,) = plan([{"preset": "beta-vae", **thesis(task), "seed": 0}])
        assert epochs(spec) == 600.0


def test_table_3_2_trains_with_the_settings_of_the_thesis() -> None:
    from vaescope.studies.zietlow2022 import table_3_2_synth

    (study,) = find("zietlow2022/table-3.2-synth")
    work = study.work("paper")
    assert isinstance(work, Computed)
    assert {cell.columns["steps"] for cell in work.cells} == {375_000}
    assert {cell.columns["every"] for cell in work.cells} == {500}  # section 3.3.2
    assert table_3_2_synth.thesis is thesis
