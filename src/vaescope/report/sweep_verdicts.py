"""What the settings of a sweep did, in sentences, each with the rule it follows."""

from collections.abc import Mapping

import numpy as np

from vaescope.report.page import PageStatement
from vaescope.report.sweep_parts import pareto, strength_of
from vaescope.statistics import Shares
from vaescope.tables import Table as Runs
from vaescope.types import Floats
from vaescope.wording import listed

__all__ = ["sweep_statements"]

#: Above this share of a measure's variance, differences between settings drown in seeds.
SEED_SHARE = 0.5


def sweep_statements(runs: Runs, shares: Mapping[str, Shares]) -> list[PageStatement]:
    """What went wrong first: runs that are missing, then settings that collapsed."""
    ended, done = _done(runs)
    said = [_collapse(runs), _in_use(runs), _front(runs), _seeds(shares)]
    known = [one for one in said if one is not None]
    return [*known, ended] if done else [ended, *known]


def _done(runs: Runs) -> tuple[PageStatement, bool]:
    total, done = len(runs), sum(map(bool, runs.settings["done"]))
    failed = sum(error is not None for error in runs.results.get("error", ()))
    rest = f"{total - done:,} not done, {failed:,} failed."
    whole = done == total
    says = "All runs are done." if whole else f"{done:,} runs are done; {rest}"
    advice = (
        "Numbers are computed over all of them."
        if whole
        else "Run the same command again to resume; failed.json in a run's folder says why."
    )
    return PageStatement(
        "good" if whole else "warning", f"{done:,}/{total:,}", says, "Good if every run is done",
        advice, "explore",
    ), whole  # fmt: skip


def _used(runs: Runs) -> Floats | None:
    """Latents of each run that are not passive; NaN where it did not count them."""
    if not {"active", "mixed", "passive"} <= set(runs.results):
        return None
    return runs.numbers("active") + runs.numbers("mixed")


def _name(strength: str) -> str:
    return strength.rpartition(".")[2]


def _collapse(runs: Runs) -> PageStatement | None:
    """Runs in which every latent is passive, and from which strength on all are."""
    used = _used(runs)
    if used is None:
        return None
    counted = np.isfinite(used)
    empty = counted & (used == 0)
    if not empty.any():
        return None
    strength = strength_of(runs)
    where = None if strength is None else _from_on(runs.numbers(strength), counted, empty)
    some = f"All latents are passive in {empty.sum():,} of {counted.sum():,} runs"
    if empty.sum() == counted.sum():
        says = "All latents are passive in every run."
    elif strength is not None and where is not None:
        at, whole = where
        says = f"All latents are passive from {_name(strength)} {at:g} on"
        says += "." if whole else f", and in {empty.sum():,} of {counted.sum():,} runs in all."
    else:
        says = f"{some}."
    return PageStatement(
        "warning", f"{empty.sum():,}", says, "Shown if a run has no active or mixed latent",
        "These runs ignore their input: choose settings among the others.", "curves",
    )  # fmt: skip


def _from_on(strength: Floats, counted: np.ndarray, empty: np.ndarray) -> tuple[float, bool] | None:
    """The least strength from which on every run is empty, and whether all empty runs are there."""
    known = counted & np.isfinite(strength)
    used = strength[known & ~empty]
    beyond = strength[known & empty & (strength > (used.max() if used.size else -np.inf))]
    if not beyond.size:
        return None
    return float(beyond.min()), bool(beyond.size == empty.sum())


def _in_use(runs: Runs) -> PageStatement | None:
    """How many latents are in use at both ends of the strength."""
    used, strength = _used(runs), strength_of(runs)
    if used is None or strength is None or not np.isfinite(used).any():
        return None
    along = runs.numbers(strength)
    kept = np.isfinite(used) & np.isfinite(along)
    ends = np.unique(along[kept])
    if ends.size < 2:
        return None
    first, last = (float(used[kept & (along == end)].mean()) for end in ends[[0, -1]])
    name = _name(strength)
    change = "fall" if last < first else "rise" if last > first else "stay"
    says = (
        f"{first:.3g} latents are in use both at {name} {ends[0]:g} and at {ends[-1]:g}, on "
        "average over runs."
        if change == "stay"
        else f"Latents in use {change} from {first:.3g} at {name} {ends[0]:g} to {last:.3g} at "
        f"{ends[-1]:g}, on average over runs."
    )
    return PageStatement(
        "note", f"{first:.3g} to {last:.3g}", says, "Active and mixed latents, by bonheme2023",
        f"The curves show where along {name} this happens.", "curves",
    )  # fmt: skip


def _front(runs: Runs) -> PageStatement | None:
    """Which settings no other beats in both rate and distortion."""
    found = pareto(runs)
    if found is None or len(found.names) < 2:
        return None
    best = [name for name, front in zip(found.names, found.front, strict=True) if front]
    beaten = len(found.names) - len(best)
    what = "setting is" if len(best) == 1 else "settings are"
    says = f"{len(best)} of {len(found.names)} {what} on the Pareto front: no other has both a "
    says += "lower rate and a lower distortion on average over seeds."
    if beaten:
        says += f" On it: {listed(best)}."
    return PageStatement(
        "note", f"{len(best)}/{len(found.names)}", says,
        "A setting is off the front if another is no worse in both and better in one",
        "Settings off the front are worse in rate or distortion and better in neither.",
        "front",
    )  # fmt: skip


def _seeds(shares: Mapping[str, Shares]) -> PageStatement | None:
    loud = {name: own for name, own in shares.items() if own.share["seed"] > SEED_SHARE}
    if not loud:
        return None
    name = max(loud, key=lambda one: loud[one].share["seed"])
    share = loud[name].share["seed"]
    others = (
        f" The same holds for {len(loud) - 1} other measure{'s' * (len(loud) > 2)}."
        if len(loud) > 1
        else ""
    )
    return PageStatement(
        "note", f"{share:.0%}",
        f"Seeds explain {share:.0%} of the variance of {name}, more than settings.{others}",
        f"Shown if seeds explain more than {SEED_SHARE:.0%} of a measure's variance",
        "Compare settings by their intervals over seeds, never by one run each.", "variance",
    )  # fmt: skip
