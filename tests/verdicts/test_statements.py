"""Statements about the polarised regime: each fails on codes in which it is false."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.verdicts.situations import N, Situation, codes_of, inspected

from vaescope.codes import Codes
from vaescope.inspection.codes import judged
from vaescope.latents import polarised, types
from vaescope.models import Inference
from vaescope.report.learnt import learnt_screen

CODES = codes_of(Situation(("active", "passive", "some")))
KINDS = types(CODES)
ACTIVE, PASSIVE, MIXED = range(3)
NOISE = np.random.default_rng(0).normal(size=N)
HALF = np.arange(N) % 2 == 0


def _with(field: str, latent: int, values: Callable[[Codes], np.ndarray]) -> Codes:
    """The codes with one column of means, variances or samples put in the place of another."""
    column = getattr(CODES, field).copy()
    column[:, latent] = values(CODES)
    return replace(CODES, **{field: column})


def _filled(field: str, latent: int, value: float) -> Codes:
    return _with(field, latent, lambda _: np.full(N, value))


RESTLESS = _with("variance", ACTIVE, lambda _: np.where(HALF, 0.01, 2.0))
MOVING = _with("mean", PASSIVE, lambda _: NOISE)
#: What is said -> codes of the same types in which that is false.
FALSE: Mapping[str, Codes] = {
    "passive means average to the prior's": _filled("mean", PASSIVE, 1.0),
    "passive means hardly vary about the prior's": MOVING,
    "Var(mu) of passive latents is the prior mean's": MOVING,
    "Var(mu) of passive latents is far below 1": MOVING,
    "active means vary more than passive ones": _filled("mean", ACTIVE, 0.0),
    "passive variances are an unused latent's": _filled("variance", PASSIVE, 0.5),
    "active variances are small": _filled("variance", ACTIVE, 0.5),
    "active variances are far below 1": _filled("variance", ACTIVE, 0.5),
    "active variances hardly vary, beside 1": RESTLESS,
    "active and passive variances hardly vary": RESTLESS,
    "mixed variances vary more than others": _filled("variance", MIXED, 0.5),
    "passive samples follow the prior": _filled("sample", PASSIVE, 0.0),
    "active samples follow their means": _with(
        "sample", ACTIVE, lambda codes: codes.sample[:, ACTIVE] + 3.0
    ),
    "mixed samples follow a mixture of the two": _with(
        "sample", MIXED, lambda codes: codes.sample[:, MIXED] + 3.0
    ),
    "mixed latents are passive on some examples, 0 < c < 1": _filled("variance", MIXED, 0.01),
    "only others differ between mean and sample": _with(
        "sample", MIXED, lambda codes: codes.mean[:, MIXED]
    ),
}  # fmt: skip


def test_every_statement_holds_where_it_is_true_and_is_in_the_table() -> None:
    statements = polarised(CODES, kinds=KINDS).statements
    assert {one.says for one in statements} == set(FALSE)
    assert [one.says for one in statements if not one.holds] == []


@pytest.mark.parametrize("says", FALSE)
def test_a_statement_fails_where_it_is_false(says: str) -> None:
    statements = polarised(FALSE[says], kinds=KINDS).statements
    assert [one.holds for one in statements if one.says == says] == [False]


def test_passive_latents_are_listed_with_what_the_decoder_makes_of_them() -> None:
    heard = learnt_screen(inspected(Situation(("active", "passive"), loud=(0, 1))), images=False)
    silent = learnt_screen(inspected(Situation(("active", "passive"), loud=(0,))), images=False)
    collapsed = learnt_screen(
        inspected(Situation(("passive", "passive"), loud=(0, 1))), images=False
    )
    assert heard and silent and collapsed
    share = "of the change along the traversals."
    assert heard.folded == (f"Passive: 1; it accounts for 50.0% {share}",)
    assert silent.folded == (f"Passive: 1; it accounts for 0.0% {share}",)
    assert collapsed.folded == ("Passive: 0, 1.",)  # shares of nothing


@pytest.mark.parametrize("told", [True, False])
def test_a_model_that_states_everything_itself_is_not_to_be_corrected(told: bool) -> None:
    stated = Inference("posterior", "named,std", "the library's own", told=told)
    found = inspected(Situation(("active", "passive"), unexplained=1.4))
    first = judged(replace(found, inferred=(stated,))).verdicts[0]
    assert ("posterior=" in first.advice) is not told
