"""Registrations: what a study will be judged by, written down and committed before it is run.

A line holds the digests of the work of a unit and of its claims, the first unit that may vote and
the cap. A revision is another line with units of its own, so that nothing that was looked at votes.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from vaescope.errors import UsageError
from vaescope.paths import replace_file
from vaescope.reading import parse_json
from vaescope.studies.claim_verdict import Case
from vaescope.studies.claims import Claim
from vaescope.studies.effects import Level
from vaescope.studies.study import Scale, Study
from vaescope.tables import Table

__all__ = [
    "REGISTRY",
    "Registration",
    "read_registry",
    "register",
    "status",
    "voting_units",
    "withdrawn",
]

#: In a checkout of the repository.
REGISTRY = Path("docs/results/registry.jsonl")
#: No unit below this voted before there were registrations; each revision begins at another one.
FIRST = 1000
#: What is registered is the scale that the results of the repository have.
SCALE: Scale = "laptop"


@final
@dataclass(frozen=True)
class Registration:
    study: str
    work: str  # digest of the cells of one unit
    claims: str  # digest of claims, thresholds, controls, conditions and cap
    first: int  # the first unit that may vote
    cap: int
    primaries: tuple[tuple[str, str], ...]  # family and sentence
    date: str


def claims_digest(study: Study) -> str:
    """Names what a study is judged by."""
    content = {"claims": [claim.registered() for claim in study.claims], "cap": study.cap}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_registry(path: Path = REGISTRY) -> list[Registration]:
    """All registrations in their order; none where there is no file."""
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    try:
        return [_registration(parse_json(line)) for line in lines if line]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is not a registry of studies: {error}.", "Restore it from the repository."
        ) from error


def _registration(content: dict[str, Any]) -> Registration:
    primaries = tuple((family, says) for family, says in content.pop("primaries"))
    return Registration(**content, primaries=primaries)


def register(study: Study, date: str, path: Path = REGISTRY, *, first: int = FIRST) -> Registration:
    """Adds a line for the study as it stands; the line that is there where nothing changed.

    `first` asks for later units than its turn, so that studies can share runs; never for earlier
    ones.
    """
    lines = read_registry(path)
    own = [line for line in lines if line.study == study.id]
    work, claims = study.digest(SCALE), claims_digest(study)
    if own and (own[-1].work, own[-1].claims) == (work, claims):
        return own[-1]
    primaries = tuple((study.family(c), c.says) for c in study.claims if c.primary)
    begin = max(FIRST * (len(own) + 1), first)
    new = Registration(study.id, work, claims, begin, study.cap, primaries, date)
    content = "".join(json.dumps(asdict(line)) + "\n" for line in [*lines, new])
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content.encode())
    return new


def status(study: Study, digest: str, table: Table, lines: Sequence[Registration]) -> str:
    """How a table stands to the registry: registered before, revised, or re-analysed."""
    own = [line for line in lines if line.study == study.id]
    if not own:
        return "re-analysed"
    last = own[-1]
    asked = (study.digest(SCALE), claims_digest(study), digest)
    fresh = all(isinstance(u, int) and u >= last.first for u in voting_units(study, table))
    if asked != (last.work, last.claims, last.work) or not fresh:
        return "re-analysed"
    if len(own) == 1:
        return "registered before"
    return "revised once" if len(own) == 2 else f"revised {len(own) - 1} times"


def voting_units(study: Study, table: Table) -> set[Any]:
    """The units of a table in all columns that its claims count by."""
    names = {claim.effect.unit for claim in study.claims} & set(table.columns)
    if "data.generator_seed" in names:  # model seeds within a generator are not units
        rows = zip(table.columns["data.generator_seed"], table.columns["seed"], strict=True)
        return {seed if generator is None else generator for generator, seed in rows}
    return {value for name in names for value in table.columns[name] if value is not None}


def withdrawn(lines: Sequence[Registration], studies: Sequence[Study]) -> list[Case]:
    """Primary claims that were registered and are primary no more: they stay undecided, so that
    the number of primary claims of a family never falls."""
    present = {claim.says for study in studies for claim in study.claims if claim.primary}
    gone = {pair: line.study for line in lines for pair in line.primaries if pair[1] not in present}
    return [
        Case(
            Claim(says, f"{study}, withdrawn", Level("withdrawn"), "above", 0.0, primary=True),
            family,
            None,
        )
        for (family, says), study in gone.items()
    ]
