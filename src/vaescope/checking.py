"""Checks every file of a folder that other commands believe against its seal, and rebuilds what
can be rebuilt to the same bytes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, final

from safetensors.torch import load as load_tensors

from vaescope.errors import RunError, VaescopeError
from vaescope.notebook_card import card_of
from vaescope.paths import replace_file
from vaescope.reading import parse_json, read_json, read_regular
from vaescope.runs import Run, strict_json
from vaescope.sealing import checkpoint_facts, is_sealed, sealed_rows, sha256_of
from vaescope.settings import dump_yaml, experiment, load_yaml
from vaescope.specs import Experiment, digest, to_dict
from vaescope.training.checkpoint import ending_of_state
from vaescope.training.run import mark_done

__all__ = ["Check", "Finding", "check"]

#: sound: as it was written. unsealed: older than seals. damaged, lost: not as it was written.
#: scratch: left by a process that was killed. repaired: was one of the last three.
State = Literal["sound", "unsealed", "damaged", "lost", "scratch", "repaired"]

_SCRATCH = re.compile(r"\..+\.\d+")
_ROWS = ("curve.jsonl", "checks.jsonl", "rounds.jsonl")


@final
@dataclass(frozen=True)
class Finding:
    """What was found of one file, and how it can be repaired, if so."""

    path: Path
    state: State
    says: str = ""
    remedy: str = ""
    repair: Callable[[], None] | None = None

    @property
    def bad(self) -> bool:
        return self.state in ("damaged", "lost", "scratch")

    def to_dict(self) -> dict[str, Any]:
        can = self.repair is not None
        return {"path": str(self.path), "state": self.state, "says": self.says,
                "remedy": self.remedy, "can_be_repaired": can}  # fmt: skip


@final
@dataclass(frozen=True)
class Check:
    """What was found of all files of a folder."""

    findings: tuple[Finding, ...]

    @property
    def damaged(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.bad)

    def summary(self) -> str:
        """A line for each file that is not sound, then the counts."""
        lines = [
            f"{one.state}: {one.path}: {one.says} {one.remedy}".rstrip(": ")
            for one in self.findings
            if one.state != "sound"
        ]
        states = [finding.state for finding in self.findings]
        counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
        return "\n".join([*lines, f"{len(states)} files: {', '.join(counts)}."])

    def to_dict(self) -> dict[str, Any]:
        return {"files": [finding.to_dict() for finding in self.findings]}

    _repr_html_ = card_of


def check(path: str | Path, *, repair: bool = False) -> Check:
    """Verifies a run, an exported model, a folder of tune-beta, of a sweep or of a study, or a
    study's table; `repair` rebuilds what can be rebuilt.

    Raises `RunError` where there is nothing of vaescope.
    """
    place = Path(path)
    findings = list(_findings(place))
    if not findings:
        says = "has no files of vaescope" if place.exists() else "does not exist"
        raise RunError(f"{place} {says}.", "Give a run or a folder of runs.")
    # Files depend on each other: after each repair the folder is looked at anew.
    repaired: list[Finding] = []
    while repair and (broken := next((f for f in findings if f.bad and f.repair), None)):
        assert broken.repair is not None
        broken.repair()
        if any(broken.path == before.path for before in repaired):
            break
        repaired.append(Finding(broken.path, "repaired", f"It was {broken.state}: {broken.says}"))
        findings = list(_findings(place))
    mended = {finding.path for finding in repaired}
    rest = [f for f in findings if f.path not in mended or f.bad]
    return Check((*repaired, *rest))


def _findings(path: Path) -> Iterator[Finding]:
    if path.is_file():
        yield _document(path, "Run the study again.")
        return
    run = Run(path)
    yield from _left_over(path)
    if run.created or (path / "spec.yaml").exists():
        yield from _of_run(run)
    elif run.published:
        yield from _of_export(run)
    elif any((path / name).exists() for name in ("tune.json", *_ROWS)):
        yield from _of_tune(path)
    elif path.is_dir():
        for inner in sorted(path.iterdir()):
            if inner.is_dir() and not inner.name.startswith("."):
                yield from _findings(inner)
    yield from _measured(path)


def _left_over(path: Path) -> Iterator[Finding]:
    for file in sorted(path.glob(".*")):
        if _SCRATCH.fullmatch(file.name) and file.is_file() and not _is_writing(file):
            says = "A process that was killed left it."
            yield Finding(file, "scratch", says, "It can be deleted.", file.unlink)


def _is_writing(scratch: Path) -> bool:
    return Path(f"/proc/{scratch.suffix[1:]}").exists()


def _document(path: Path, remedy: str, repair: Callable[[], None] | None = None) -> Finding:
    """A JSON document with a seal of its own."""
    try:
        return Finding(path, "sound" if is_sealed(read_json(path)) else "unsealed")
    except (OSError, ValueError) as error:
        return Finding(path, "damaged", f"{error}.", remedy, repair)


def _of_run(run: Run) -> Iterator[Finding]:
    done = run.path / "done.json"
    state = _facts(run.state)
    if done.exists():
        again = partial(_finish_again, run) if _has_ended(run, state) else None
        yield _document(done, "Delete it and run the `vaescope train` command again.", again)
    needed = "The finished run does not need it." if done.exists() else "Delete it."
    try:
        noted, seals = run.read_done() if done.exists() else {}, run.seals()
    except RunError:
        if run.state.exists():
            yield _checkpoint(run.state, state, needed)
        return  # done.json is damaged, as was said: there is nothing to compare with
    if run.state.exists():
        yield _checkpoint(run.state, state, needed, noted.get("digest"))
    digests = [facts["digest"] for facts in (noted, state or {}) if "digest" in facts]
    yield from _specs(run, seals, digests)
    if "weights_sha256" in noted:
        remedy = "Run the `vaescope train` command again."
        again = partial(_weights_again, run) if _has_ended(run, state) else None
        yield _file(run.weights, noted["weights_sha256"], remedy, again)
    for path in (run.history, run.validation, run.correlations, run.timing, run.environment):
        if path.name in seals:
            yield _file(path, seals[path.name], "Restore it, or train again elsewhere.")
    if run.timing.name not in seals and (run.timing.exists() or seals):
        yield _timing(run, ended=bool(seals))
    if run.history.exists() and run.history.name not in seals:
        yield _history(run, state or {})


def _facts(path: Path) -> dict[str, Any] | None:
    """Of a checkpoint; None where it is damaged or not there."""
    try:
        return checkpoint_facts(read_regular(path))
    except (OSError, ValueError):
        return None


def _checkpoint(
    path: Path, facts: dict[str, Any] | None, remedy: str, digest: str | None = None
) -> Finding:
    if facts is None:
        return Finding(path, "damaged", "It does not match its checksum.", remedy)
    if digest not in (None, facts.get("digest")):
        return Finding(path, "damaged", "It is the checkpoint of another run.", remedy)
    return Finding(path, "sound" if "seal" in facts else "unsealed")


def _has_ended(run: Run, state: dict[str, Any] | None) -> bool:
    """Whether the checkpoint is that of the last step of this run."""
    try:
        spec = experiment(read_json(run.path / "spec.json"))
    except (OSError, ValueError, VaescopeError):
        return False
    if state is None or state["digest"] != digest(spec):
        return False
    return bool(state["step"] == spec.steps or _stopped_early(run, spec))


def _stopped_early(run: Run, spec: Experiment) -> bool:
    """Whether the checkpoint is the one at which the validation's patience was over."""
    if spec.validation is None:
        return False
    worse = load_tensors(read_regular(run.state)).get("validation/worse")
    return worse is not None and int(worse) >= spec.validation.patience


def _weights_again(run: Run) -> None:
    replace_file(run.weights, ending_of_state(run.state)[0])


def _finish_again(run: Run) -> None:
    """The mark that the run is done from its last checkpoint, whose history must be this one."""
    state = _facts(run.state)
    assert state is not None
    if _history(run, state).bad:
        return
    weights, ending = ending_of_state(run.state)
    replace_file(run.weights, weights)
    mark_done(run, experiment(read_json(run.path / "spec.json")), weights, ending)


def _file(path: Path, seal: str, remedy: str, repair: Callable[[], None] | None = None) -> Finding:
    """A file whose seal another one has."""
    try:
        if sha256_of(read_regular(path)) == seal:
            return Finding(path, "sound")
    except FileNotFoundError:
        return Finding(path, "lost", "It is missing.", remedy, repair)
    except (OSError, ValueError) as error:
        return Finding(path, "damaged", f"{error}.", remedy, repair)
    return Finding(
        path, "damaged", "It has changed since its checksum was written.", remedy, repair
    )


def _history(run: Run, state: dict[str, Any]) -> Finding:
    """The history of a run that is not sealed as a whole, up to its last checkpoint."""
    kept = b""
    try:
        for line in read_regular(run.history).splitlines(keepends=True):
            if line.endswith(b"\n") and parse_json(line)["step"] <= state.get("step", 0):
                kept += line
    except (ValueError, KeyError, TypeError) as error:
        return Finding(run.history, "damaged", f"{error}.", "Restore it, or train anew.")
    seal = state.get("history")
    if seal not in (None, sha256_of(kept)):
        says = "It has changed since the checkpoint was written."
        return Finding(run.history, "damaged", says, f"Restore it, or delete {run.state}.")
    return Finding(run.history, "unsealed" if seal is None else "sound")


def _specs(run: Run, seals: dict[str, str], digests: list[str]) -> Iterator[Finding]:
    """spec.json and spec.yaml, each of which can be made from the other."""
    spec, text = run.path / "spec.json", run.path / "spec.yaml"
    made = {spec: _spec_json(_tree(text)), text: _spec_yaml(_tree(spec))}

    def fits(content: bytes | None) -> bool:
        """Whether this is what spec.json was."""
        if content is None or seals.get(spec.name) not in (None, sha256_of(content)):
            return False
        own = _digest(content)
        return own is not None and (not digests or own in digests)

    there = _content(spec)
    if fits(there):
        yield Finding(spec, "sound" if spec.name in seals or digests else "unsealed")
        written, wanted = _content(text), made[text]
        if wanted is not None and written != wanted:
            state: State = "lost" if written is None else "damaged"
            again = partial(replace_file, text, wanted)
            yield Finding(text, state, "It differs from spec.json.", "", again)
        return
    again_spec = partial(replace_file, spec, made[spec] or b"") if fits(made[spec]) else None
    says = "It differs from the spec that was trained."
    yield Finding(spec, "lost" if there is None else "damaged", says, "Restore it.", again_spec)


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except (OSError, ValueError):
        return None


def _tree(path: Path) -> dict[str, Any] | None:
    """Settings as they are written in a spec, or None."""
    try:
        content = read_regular(path).decode()
        tree = parse_json(content) if path.suffix == ".json" else load_yaml(content, str(path))
        return to_dict(experiment(tree))
    except (OSError, ValueError, TypeError, VaescopeError):
        return None


def _spec_json(tree: dict[str, Any] | None) -> bytes | None:
    return None if tree is None else (strict_json(tree, indent=1) + "\n").encode()


def _spec_yaml(tree: dict[str, Any] | None) -> bytes | None:
    return None if tree is None else dump_yaml(tree).encode()


def _digest(content: bytes) -> str | None:
    try:
        return digest(experiment(parse_json(content)))
    except (ValueError, TypeError, VaescopeError):
        return None


def _of_export(run: Run) -> Iterator[Finding]:
    remedy = "Get it again from where the folder came from."
    try:
        run.open()
        config = run.read_config()
    except VaescopeError as error:
        yield Finding(run.config, "damaged", error.message, remedy)
        return
    yield Finding(run.config, "sound" if "seal" in config else "unsealed")
    yield _file(run.model, config["weights_sha256"], remedy)
    for name, seal in run.seals().items():
        if name != run.model.name:
            yield _file(run.path / name, seal, remedy)


def _of_tune(path: Path) -> Iterator[Finding]:
    about = path / "tune.json"
    again = "The same command writes it again."
    if about.exists():
        yield _document(about, f"It can be deleted. {again}", about.unlink)
    else:
        yield Finding(about, "lost", "It is missing.", again)
    for file in sorted(path.glob("*.safetensors")):
        yield _checkpoint(file, _facts(file), "Delete the folder and tune again.")
    for file in (path / name for name in _ROWS):
        if file.exists():
            again = (
                "The file can be cut before that line: the same command measures the rest again."
            )
            yield _rows(file, again)


def _rows(path: Path, remedy: str) -> Finding:
    try:
        content = read_regular(path)
    except (OSError, ValueError) as error:
        return Finding(path, "damaged", f"{error}.", remedy)
    good, lines = 0, content.splitlines(keepends=True)
    try:
        for _ in sealed_rows(content):
            good += 1
    except ValueError as error:
        again = partial(replace_file, path, b"".join(lines[:good]))
        return Finding(path, "damaged", f"Line {good + 1}: {error}.", remedy, again)
    sealed = not lines or b'"seal"' in lines[max(good - 1, 0)]
    return Finding(path, "sound" if sealed else "unsealed")


def _timing(run: Run, *, ended: bool) -> Finding:
    """Rows with seals of their own; of a run that has ended they reach as far as the history."""
    remedy = "Only `vaescope table --timing` uses it."
    if not run.timing.exists():
        return Finding(run.timing, "lost", "It is missing.", remedy)
    found = _rows(run.timing, remedy)
    if ended and not found.bad:
        ends = [_last_step(_content(path) or b"") for path in (run.timing, run.history)]
        if not (_content(run.timing) or b"").endswith(b"\n"):
            return Finding(run.timing, "damaged", "The end of its last line is missing.", remedy)
        if ends[0] != ends[1] or found.state != "sound":
            says = f"It ends at step {ends[0]}, the history at step {ends[1]}."
            return Finding(run.timing, "damaged", says, remedy)
    return replace(found, repair=None)


def _last_step(content: bytes) -> Any:
    """Of the last row; None where that is cut off."""
    try:
        return parse_json(content.splitlines(keepends=True)[-1].removesuffix(b"\n"))["step"]
    except (ValueError, IndexError, KeyError, TypeError):
        return None


def _measured(path: Path) -> Iterator[Finding]:
    """What studies measured of a run, or computed."""
    for file in sorted(path.glob("*.json" if path.name == "computed" else "study-*.json")):
        remedy = "It can be deleted: the same command measures it again."
        found = _document(file, remedy, file.unlink)
        yield found
        beside = file.with_suffix(".npz")
        seal = None if found.bad else read_json(file).get("pictures")
        if seal is not None:
            yield _file(beside, seal, remedy, file.unlink)
