"""Each table of names is complete: what the specs allow can be built, and nothing else is there."""

from typing import get_args

import pytest
from pydantic import BaseModel

from vaescope import build
from vaescope.citations import BIBTEX, METHODS
from vaescope.data import DATASETS
from vaescope.data.specs import DataSpec
from vaescope.model_specs import (
    AnisotropicPriorSpec,
    ConditionalPriorSpec,
    LikelihoodSpec,
    NetSpec,
    PosteriorSpec,
    PriorSpec,
)
from vaescope.objective_specs import BetaTCVAESpec, DecompositionSpec, ObjectiveSpec
from vaescope.optimiser_specs import OptimiserSpec
from vaescope.presets import PRESETS
from vaescope.settings import preset


def names(union: object) -> set[str]:
    """The names that a spec, or a union of specs told apart by name, allows."""
    first = get_args(union)[0] if get_args(union) else union
    members = get_args(first) or (first,)
    found: set[str] = set()
    for member in members:
        assert issubclass(member, BaseModel)
        found |= set(get_args(member.model_fields["name"].annotation))
    return found - {"auto"}


@pytest.mark.parametrize(
    ("union", "table"),
    [
        (NetSpec, build.NETS),
        (PosteriorSpec, build.POSTERIORS),
        (PriorSpec, build.PRIORS),
        (LikelihoodSpec, build.LIKELIHOODS),
        (ObjectiveSpec, build.OBJECTIVES),
        (OptimiserSpec, build.OPTIMISERS),
        (DataSpec, {**DATASETS, "array": None, "files": None, "perturbed": None}),
    ],
)
def test_specs_and_tables_have_the_same_names(union: object, table: dict[str, object]) -> None:
    assert names(union) == set(table)


def test_every_kind_of_u_can_be_built() -> None:
    kinds = get_args(ConditionalPriorSpec.model_fields["u"].annotation)
    assert set(kinds) == set(build.AUXILIARIES)
    assert set(build.CONDITIONAL_NETS) < set(build.NETS)


def test_every_estimator_can_be_built() -> None:
    estimators = get_args(BetaTCVAESpec.model_fields["estimator"].annotation)
    assert set(estimators) == set(build.ESTIMATORS)
    kinds = get_args(DecompositionSpec.model_fields["divergence"].annotation)
    assert set(kinds) == set(build.DIVERGENCES)


def test_every_start_of_an_anisotropic_prior_can_be_built() -> None:
    starts = get_args(AnisotropicPriorSpec.model_fields["start"].annotation)
    assert set(starts) == set(build.STARTS)


def test_every_preset_has_its_file_and_every_file_its_preset() -> None:
    from importlib import resources

    files = {f.name for f in resources.files("vaescope.presets").iterdir()}
    assert {f.removesuffix(".yaml") for f in files if f.endswith(".yaml")} == set(PRESETS)
    for name in PRESETS:
        assert preset(name)


def test_every_preset_can_be_cited() -> None:
    assert {METHODS[name] for name in PRESETS} <= set(BIBTEX)
