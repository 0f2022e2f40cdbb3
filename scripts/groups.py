"""What `vs.latents.groups` says of codes whose rotation is known: docs/results/groups.md.

    python scripts/groups.py                 # 200 draws of each case, some minutes
    python scripts/groups.py --draws 0 --codes CODES.npz ...   # adds what is said of models

Factors are those of dSprites; ten latents, of which those that a case leaves are passive. The seeds
begin at 10,000: while `groups` was written, others were looked at.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vaescope.codes import Codes
from vaescope.latents import LatentGroups, groups

SIZES = (3, 6, 40, 32, 32)
NAMES = ("shape", "scale", "orientation", "x", "y")
FIRST_SEED = 10_000
#: Degrees by which an angle may be wrong.
TOLERANCE = 5.0
#: Rows of files of codes that are read, and how many samples of them.
SIZES_OF_SAMPLES, SAMPLES = (500, 1000, 2000, 5000, 10_000), 3
BORDERLINE = "borderline"
WORDS = {"spread": "spread over all", "weak": "weakly encoded", "unnamed": "without a name",
         "none": "not found", "held": "held"}  # fmt: skip

Fill = Callable[[np.ndarray, np.ndarray, np.random.Generator], None]


@dataclass(frozen=True)
class Case:
    """Codes with a known answer, and whether what was found is it."""

    draw: Callable[[int], Codes]
    right: Callable[[LatentGroups], bool]
    says: str
    degrees: float | None = None  # of the pair 4 and 8


def codes_with(fill: Fill, seed: int, rows: int = 2000) -> Codes:
    """Codes whose used latents `fill` writes into the means, with posterior noise on top."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(size, size=rows) for size in SIZES], axis=1)
    mean = 0.02 * rng.standard_normal((rows, 10))
    variance = np.ones_like(mean)
    fill(mean, factors, rng)
    variance[:, mean.std(axis=0) > 0.1] = 0.02
    mean = mean + np.sqrt(variance) * 0.5 * rng.standard_normal(mean.shape) * (variance < 0.5)
    return Codes(mean, variance, mean, factors, NAMES, SIZES)


def unit(factor: np.ndarray) -> np.ndarray:
    """A factor with mean zero and variance one."""
    return np.asarray((factor - factor.mean()) / factor.std())


def rotated_codes(degrees: float, scale: float = 0.8) -> Callable[[int], Codes]:
    """x and y in latents 4 and 8, rotated; the scale of the shape in latent 2."""

    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        angle = np.deg2rad(degrees)
        x, y = unit(factors[:, 3]), scale * unit(factors[:, 4])
        mean[:, 4] = np.cos(angle) * x + np.sin(angle) * y
        mean[:, 8] = -np.sin(angle) * x + np.cos(angle) * y
        mean[:, 2] = unit(factors[:, 1])

    return lambda seed: codes_with(fill, seed)


def split_codes(seed: int) -> Codes:
    """Scale over latents 1 and 8, together with something that has no name."""

    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        other = rng.standard_normal(len(mean))
        scale = unit(factors[:, 1])
        mean[:, 1], mean[:, 8] = (scale + other) / np.sqrt(2), (scale - other) / np.sqrt(2)
        mean[:, 4] = unit(factors[:, 3])

    return codes_with(fill, seed)


def repeated_codes(seed: int) -> Codes:
    """Scale in latent 1 and once more in latent 8."""

    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        mean[:, 1] = mean[:, 8] = unit(factors[:, 1])
        mean[:, 4] = unit(factors[:, 3])

    return codes_with(fill, seed)


def cyclic_codes(seed: int) -> Codes:
    """Orientation as cosine and sine in latents 3 and 6."""

    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        del rng
        angle = 2 * np.pi * factors[:, 2] / 40
        mean[:, 3], mean[:, 6] = np.cos(angle), np.sin(angle)
        mean[:, 4] = unit(factors[:, 3])

    return codes_with(fill, seed)


def noise_codes(rows: int, used: int) -> Callable[[int], Codes]:
    """Latents that are used and know no factor."""

    def fill(mean: np.ndarray, factors: np.ndarray, rng: np.random.Generator) -> None:
        mean[:, :used] = rng.standard_normal((len(factors), used))

    return lambda seed: codes_with(fill, seed, rows)


def _has_an_axis_each(found: LatentGroups) -> bool:
    named = {group.factors: (group.latents, group.angle) for group in found.groups}
    wanted = {("x",): ((4,), 0.0), ("y",): ((8,), 0.0), ("scale",): ((2,), 0.0)}
    return named == wanted and np.allclose(found.rotation, np.eye(10))


def angle_of_pair(found: LatentGroups) -> float | None:
    """Degrees of the group that holds x and y in 4 and 8, if there is one."""
    return next(
        (g.angle for g in found.groups if (g.latents, g.factors) == ((4, 8), ("x", "y"))), None
    )


def _is_rotated_by(degrees: float) -> Callable[[LatentGroups], bool]:
    def right(found: LatentGroups) -> bool:
        angle = angle_of_pair(found)
        near = angle is not None and abs(angle - degrees) <= TOLERANCE
        return near and {group.latents for group in found.groups} == {(2,), (4, 8)}

    return right


def _scale_is_split(found: LatentGroups) -> bool:
    return {(g.latents, g.factors) for g in found.groups} == {((1, 8), ("scale",)), ((4,), ("x",))}


def _orientation_is_cyclic(found: LatentGroups) -> bool:
    named = {(g.latents, g.factors, g.kind) for g in found.groups}
    return named == {((3, 6), ("orientation",), "cyclic"), ((4,), ("x",), "ordered")}


def _names_nothing(found: LatentGroups) -> bool:
    return not found.groups and all(factor.standing == "none" for factor in found.factors)


_TURNED = "x and y in 4 and 8, scale in 2"
CASES: dict[str, Case] = {
    "0 degrees": Case(rotated_codes(0), _has_an_axis_each, "x in 4, y in 8, scale in 2", 0.0),
    "20 degrees": Case(rotated_codes(20), _is_rotated_by(20), _TURNED, 20.0),
    "45 degrees": Case(rotated_codes(45), _is_rotated_by(45), _TURNED, 45.0),
    "45 degrees, equal spread": Case(rotated_codes(45, 1.0), _is_rotated_by(45), _TURNED, 45.0),
    "split": Case(split_codes, _scale_is_split, "scale split over 1 and 8, x in 4"),
    "repeated": Case(repeated_codes, _scale_is_split, "scale in 1 and 8, x in 4"),
    "cyclic": Case(cyclic_codes, _orientation_is_cyclic, "orientation as an angle on 3 and 6"),
    "noise": Case(noise_codes(2000, 6), _names_nothing, "nothing"),
    "noise, 10 latents, 500 rows": Case(noise_codes(500, 10), _names_nothing, "nothing"),
}


def count(case: Case, draws: int) -> tuple[int, list[float], list[str]]:
    """Right answers, errors of the angle in degrees, and what was said where it was wrong. What is
    said to be borderline is no answer."""
    right, errors, wrong = 0, [], []
    for seed in range(FIRST_SEED, FIRST_SEED + draws):
        found = groups(case.draw(seed))
        if case.right(found) and not any(group.otherwise for group in found.groups):
            right += 1
        else:
            wrong.append("; ".join(group.says for group in found.groups) or "nothing")
        if case.degrees and (angle := angle_of_pair(found)) is not None:
            errors.append(abs(angle - case.degrees))
    return right, errors, wrong


def page(draws: int) -> str:
    """The page of results."""
    rows, remarks = [], []
    for name, case in CASES.items():
        right, errors, wrong = count(case, draws)
        error = f"{np.median(errors):.2f}, at most {max(errors):.2f}" if errors else ""
        rows.append(f"| {name} | {case.says} | {right} of {draws} | {error} |")
        for says, times in Counter(wrong).most_common(3):
            remarks.append(f'- {name}: {times} times "{says}".')
    return "\n".join([
        "# Groups of latents on codes whose answer is known", "",
        f"`python scripts/groups.py`: {draws} draws of each case, seeds {FIRST_SEED:,} to "
        f"{FIRST_SEED + draws - 1:,}, factors of dSprites, 2,000 rows unless said, ten latents of "
        "which those that a case does not use are passive. An answer is right if the groups are "
        "exactly these, none is said to be borderline, and the angle is within "
        f"{TOLERANCE:g} degrees. Asked for: 190 of 200.", "",
        "| case | the answer | right | error of the angle in degrees |", "|---|---|---|---|", *rows,
        "", *(["Wrong answers:", "", *remarks] if remarks else ["There was no wrong answer."]), "",
    ])  # fmt: skip


def read(paths: Sequence[Path]) -> list[str]:
    """What is said of files of codes: `mu`, `logvar` and `factors`, as the dSprites models have."""
    rows, compared = [], []
    for path in paths:
        with np.load(path) as arrays:
            mean, variance = (arrays[name].astype(np.float64) for name in ("mu", "logvar"))
            factors = arrays["factors"].astype(np.int64)
        name, answers = path.stem.removesuffix("_codes"), dict[str, Counter[str]]()
        for n in SIZES_OF_SAMPLES:
            for seed in range(SAMPLES):
                own = np.random.default_rng(seed).permutation(len(mean))[:n]
                codes = Codes(mean[own], np.exp(variance[own]), mean[own], factors[own], NAMES)
                for factor, says in statements(groups(codes, seed=seed)).items():
                    answers.setdefault(factor, Counter())[says] += 1
        codes = Codes(mean, np.exp(variance), mean, factors, NAMES)
        rows.append(f"| {name} | {groups(codes).summary()} |")
        for factor, said in answers.items():
            sure = {says: times for says, times in said.items() if says != BORDERLINE}
            words = "; ".join(f"{says} ({times})" for says, times in sure.items()) or "\N{EN DASH}"
            compared.append(f"| {name} | {factor} | {words} | {said[BORDERLINE]} | {len(sure)} |")
    return [
        "## Third-party models", "",
        "| model | what is said, with shares |", "|---|---|", *rows, "",
        f"The same of {SAMPLES} samples each of {', '.join(map(str, SIZES_OF_SAMPLES))} of their "
        "10,000 rows: a statement that is made without a doubt must not depend on the rows, so "
        "that the last column is at most 1.", "",
        "| model | factor | said without a doubt (times) | borderline | different statements |",
        "|---|---|---|---|---|", *compared, "",
    ]  # fmt: skip


def statements(found: LatentGroups) -> dict[str, str]:
    """What is said of each factor: where it is and in which manner."""
    said = {}
    for factor in found.factors:
        group = next((own for own in found.groups if factor.name in own.factors), None)
        if factor.otherwise or (group is not None and group.otherwise):
            said[factor.name] = BORDERLINE
        elif group is None:
            said[factor.name] = WORDS[factor.standing]
        else:
            manner = re.sub(r"in [\d, and]*\d,? ?|by about \d+ degrees", "", group.place).strip()
            said[factor.name] = f"in {', '.join(map(str, factor.latents))} {manner}".strip()
    return said


def main() -> None:
    """Count and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("docs/results/groups.md"))
    parser.add_argument("--codes", type=Path, nargs="*", default=[], help="files of codes to read")
    options = parser.parse_args()
    text = page(options.draws) if options.draws else options.out.read_text().partition("\n## ")[0]
    if options.codes:
        text = "\n".join([text.rstrip(), "", *read(options.codes)])
    options.out.write_text(text)


if __name__ == "__main__":
    main()
