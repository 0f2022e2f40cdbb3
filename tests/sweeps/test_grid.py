"""Grids expand by laws that a reader can count on."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vaescope.errors import UsageError
from vaescope.settings import from_command_line
from vaescope.specs import digest, resolve
from vaescope.sweeps import chain, nest, plan, product, read_plan, zipped

EXAMPLE = """
preset: beta-vae
fixed: {data.name: synth-linear, steps: 300}
grid: {objective.beta: [0.0001, 0.01, 0.1], seed: [0, 1, 2, 3]}
"""
axes = st.dictionaries(
    st.sampled_from(["latent", "batch", "steps", "seed"]),
    st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
    max_size=3,
)


def written(folder: Path, content: Any) -> Path:
    path = folder / "sweep.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_the_example_of_the_interface_is_a_product(tmp_path: Path) -> None:
    found = read_plan(written(tmp_path, EXAMPLE))
    assert len(found) == len(set(found.names)) == 12
    betas = [spec.objective.beta for spec in found]
    assert betas == [0.0001] * 4 + [0.01] * 4 + [0.1] * 4
    assert [spec.seed for spec in found] == [0, 1, 2, 3] * 3
    assert {spec.data.name for spec in found} == {"synth-linear"}


def test_an_experiment_is_the_one_of_the_command_line(tmp_path: Path) -> None:
    found = read_plan(written(tmp_path, EXAMPLE))
    settings = ["data.name=synth-linear", "steps=300", "objective.beta=0.01", "seed=2"]
    alone = from_command_line("beta-vae", settings)
    assert found[6] == resolve(alone)
    assert found.names[6] == f"beta-vae-s2-{digest(alone)[:8]}"


@given(axes, axes)
def test_sizes_multiply_in_a_product_and_add_in_a_chain(a: Any, b: Any) -> None:
    size = len(product(a))
    assert size == _times(len(values) for values in a.values())
    assert len(chain(product(a), product(b))) == size + len(product(b))
    assert len(nest(product(a), product(b))) == size * len(product(b))


@given(axes, axes)
def test_nesting_disjoint_axes_is_their_product(a: Any, b: Any) -> None:
    b = {key: values for key, values in b.items() if key not in a}
    assert nest(product(a), product(b)) == product({**a, **b})


def _times(sizes: Any) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def test_a_zip_pairs_and_refuses_unequal_lengths() -> None:
    assert zipped({"latent": [2, 5], "batch": [8, 9]})[1] == {"latent": 5, "batch": 9}
    with pytest.raises(UsageError, match="latent has 2, batch has 1"):
        zipped({"latent": [2, 5], "batch": [8]})


def test_grid_zip_and_chain_nest_in_yaml(tmp_path: Path) -> None:
    content = {
        "preset": "beta-vae",
        "fixed": {"data.name": "synth-linear", "steps": 10},
        "grid": {"seed": "0..2"},
        "zip": {"latent": [2, 5], "batch": [8, 16]},
        "chain": [
            {"grid": {"objective.beta": [1, 4]}},
            {"preset": "vae", "fixed": {"steps": 20}},
        ],
    }
    found = read_plan(written(tmp_path, content))
    assert len(found) == 3 * 2 * (2 + 1)
    seen = {(e.objective.name, e.latent, e.batch, e.steps) for e in found}
    pairs = ((2, 8), (5, 16))
    assert seen == {(n, d, b, s) for n, s in (("beta-vae", 10), ("vae", 20)) for d, b in pairs}
    assert sum(name.startswith("vae-") for name in found.names) == 6


def test_cells_that_mean_the_same_experiment_are_one_run(tmp_path: Path) -> None:
    cells = product({"objective.beta": [4, 4.0, 4e0], "logging.every": [10, 20], "seed": [0, 1]})
    found = plan(cells, preset_name="beta-vae")
    assert [spec.seed for spec in found] == [0, 1]  # logging is not part of the digest


def test_a_groups_new_name_resets_its_keys_as_elsewhere(tmp_path: Path) -> None:
    content = {"preset": "beta-vae", "grid": {"objective.name": ["vae", "beta-vae"]}}
    names = [spec.objective.name for spec in read_plan(written(tmp_path, content))]
    assert names == ["vae", "beta-vae"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("preset: beta-vae\ngrids: {seed: [0]}", r"sweep\.yaml has an unknown key grids.*grid\?"),
        ("preset: beta-vae\ngrid: {objective.betta: [1]}", r"sweep\.yaml: .*objective\.betta"),
        ("preset: beta-vae\ngrid: {seed: 3}", r"sweep\.yaml: grid\.seed must be a list"),
        ("preset: beta-vae\ngrid: {seed: []}", r"grid\.seed must be a list"),
        ("preset: beta-vae\ngrid: [1]", r"grid must be a group of settings"),
        ("preset: beta-vae\nchain: {seed: [0]}", r"chain must be a list"),
        ("preset: beta-vae\nchain: [{grid: {sed: [0]}}]", r"no setting sed"),
        ("preset: beta-vae\nchain: [{gird: {}}]", r"chain\[0\] has an unknown key gird"),
        ("preset: betavae", r"no preset betavae.*beta-vae\?"),
        ("grid: {seed: [0]}", r"names no preset"),
        ("preset: beta-vae\nfixed: {seed: 1}\ngrid: {seed: [0]}", r"gives seed in"),
        ("preset: vae\ngrid: {seed: [0]}\nchain: [{fixed: {seed: 1}}]", r"gives seed in fixed"),
        ("preset: vae\nzip: {seed: [0], latent: [1, 2]}", r"sweep\.yaml: A zip needs"),
        ("- 1", r"has no keys"),
        ("preset: [", r"is not YAML"),
        ("preset: [a]\ngrid: {seed: [0]}", r"no preset \['a'\]"),
        ("preset: vae\ngrid: {seed: [0], seed: [1]}", r"gives seed twice \(line 2\)"),
        ("preset: vae\ngrid: {seed: 0..99999999999}", r"more than 1,000,000 values"),
    ],
)
def test_mistakes_name_the_file_and_the_key(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_plan(written(tmp_path, content))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        read_plan(tmp_path / "nowhere.yaml")


def test_the_files_of_the_manual_mean_what_it_says(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    counts = []
    for block in re.findall(r"```yaml\n(.*?)```", manual, re.S):
        (tmp_path / "sweep.yaml").write_text(block)
        counts.append(len(read_plan(tmp_path / "sweep.yaml")))
    assert counts == [12, 25]
