"""Every command line of the pages is taken by the real command: its arguments, options, presets and
settings. The quick ones run, on small models and data under the names that the pages use."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.command import vaescope
from tests.docs.snippets import DOCS, ROOT, blocks
from typer.exceptions import TyperException
from typer.main import get_command

import vaescope as vs
from vaescope.cli.app import app
from vaescope.settings import from_command_line

EVERY = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
#: Commands that end in seconds. The others train or draw for longer: their own tests run them.
QUICK = ("train", "encode", "measure", "inspect", "compare", "exchange", "export", "prune", "table",
         "check", "doctor", "cite")  # fmt: skip
#: What lines need that is not there: a graphics card, a dataset that takes minutes to make.
ELSEWHERE = ("--device cuda", "data.path=perturbed/perturbed.npz", "sweeps/")
#: What `mynets:build` makes, by the data of the line: classes of docs/other-models.md.
NETS = {
    "images.npz": "Model(1, 8, 8)", "photos/": "Model(1, 64, 64)",
    "sensors.npy": "TimeFirst(12, 3)", "padded.npy": "Padded(12, 3)", "tokens.npy": "Tokens(9, 7)",
}  # fmt: skip
RUNS = {
    "beta-vae-s0-1a2b3c4d": (4, 0), "beta-vae-s1-5e6f7a8b": (4, 1), "demo-s0-1a2b3c4d": (4, 2),
    "demo-s1-5e6f7a8b": (4, 3), "beta1-s0": (1, 0), "beta1-s1": (1, 1), "beta1-s2": (1, 2),
    "beta4-s0": (4, 4), "beta4-s1": (4, 5), "beta4-s2": (4, 6),
}  # fmt: skip


def _lines(page: Path) -> Iterator[list[str]]:
    """Command lines of the blocks of a page, as a shell would split them."""
    for line in "\n".join(blocks(page, "sh", "")).replace("\\\n", " ").splitlines():
        found = line.split("#")[0].replace(".venv/bin/", "").strip()
        if re.match(r"vaescope [a-z]", found):
            yield [
                word for part in shlex.split(found)[1:] for word in _braces(part) if word != "..."
            ]


def _braces(word: str) -> list[str]:
    """a{0,1} is a0 and a1, as in bash; settings keep theirs."""
    found = re.fullmatch(r"([^={]*)\{([\d,]+)\}", word)
    return [found[1] + one for one in found[2].split(",")] if found else [word]


def _mentions(page: Path) -> Iterator[list[str]]:
    """Commands that are named in sentences and tables, often without their arguments."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for said in re.findall(r"`vaescope ([a-z][^`]*)`", text):
        yield shlex.split(" ".join(said.partition("|")[0].split()))


LINES = list(dict.fromkeys(tuple(line) for page in EVERY for line in _lines(page)))
#: The changelog names options that are gone.
NOW = [page for page in EVERY if page.name != "CHANGELOG.md"]
MENTIONS = list(dict.fromkeys(tuple(words) for page in NOW for words in _mentions(page)))


@pytest.fixture(scope="module")
def root() -> Any:
    return get_command(app)


def _command(root: Any, words: tuple[str, ...]) -> tuple[Any, list[str]]:
    assert words[0] in root.commands, f"there is no command {words[0]}"
    command, rest = root.commands[words[0]], list(words[1:])
    if hasattr(command, "commands") and rest:
        assert rest[0] in command.commands, f"there is no command {' '.join(words[:2])}"
        return command.commands[rest[0]], rest[1:]
    return command, rest


@pytest.mark.parametrize("words", LINES, ids=" ".join)
def test_a_command_line_is_taken_as_it_stands(root: Any, words: tuple[str, ...]) -> None:
    command, rest = _command(root, words)
    try:
        command.make_context(words[0], rest)
    except TyperException as problem:
        pytest.fail(f"vaescope {' '.join(words)}: {problem.format_message()}")


@pytest.mark.parametrize("words", MENTIONS, ids=" ".join)
def test_a_command_in_a_sentence_has_the_options_that_it_names(
    root: Any, words: tuple[str, ...]
) -> None:
    if words[0] == "COMMAND":
        return
    command, rest = _command(root, words)
    options = {option for one in command.params for option in one.opts} | {"--help"}
    for word in rest:
        assert not word.startswith("-") or word.split("=")[0] in options, word


def test_a_line_with_an_option_or_a_value_that_is_not_there_is_found(root: Any) -> None:
    for words in (("inspect", "a", "--colour", "red"), ("prune",), ("study", "--workers", "0")):
        command, rest = _command(root, words)
        with pytest.raises(TyperException):
            command.make_context(words[0], rest)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder: runs, data and code under the names that the pages use."""
    folder = tmp_path_factory.mktemp("reader")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        digits = vs.load_dataset("digits")
        for name, (beta, seed) in RUNS.items():
            run = vs.train("beta-vae", digits, beta=beta, latent=3, steps=5, seed=seed)
            run.path.rename(f"runs/{name}")
        shutil.copytree("runs/beta-vae-s0-1a2b3c4d", "runs/pruned")
        vaescope("encode", "runs/beta-vae-s0-1a2b3c4d", "--out", "codes.npz", check=True)
        np.savez("images.npz", images=digits.rows(np.arange(200)))
        (photos,) = [
            b for b in blocks(DOCS / "guides" / "compare.md", "python") if "# photos/" in b
        ]
        exec(photos, {})
        rng = np.random.default_rng(0)
        for name in ("sensors", "padded"):
            np.save(f"{name}.npy", rng.normal(size=(120, 12, 3)).astype("float32"))
        np.save("lengths.npy", rng.integers(4, 13, 120))
        np.save("tokens.npy", rng.integers(0, 7, (120, 9)))
        Path("vocabulary.txt").write_text("\n".join("CNO()=1"))
        Path("classes.txt").write_text(_classes())
    return folder


def _classes() -> str:
    """The models of docs/other-models.md, without the calls."""
    kept = [
        ast.unparse(node)
        for block in blocks(DOCS / "other-models.md", "python")[:8]
        for node in ast.parse(block).body
        if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef)
    ]
    return "\n".join(kept)


def _given(words: tuple[str, ...]) -> None:
    """Code and weights that the line names."""
    parts = blocks(DOCS / "own-parts.md", "python")[0]
    (guide,) = [b for b in blocks(DOCS / "guides/objective.md", "python") if "# mylab.py" in b]
    Path("mylab.py").write_text(f"{parts}\n{guide}")
    data = next((one for one in NETS if one in words), "images.npz")
    net = NETS[data]
    Path("mynets.py").write_text(
        f"{Path('classes.txt').read_text()}\ndef build():\n    return {net}\n"
    )
    names: dict[str, Any] = {}
    exec(Path("mynets.py").read_text(), names)
    for number, file in enumerate(("model.pt", "a.pt", "b.pt")):
        torch.manual_seed(number)
        torch.save(names["build"]().state_dict(), file)


SETTINGS = [words for words in LINES if words[0] in ("train", "tune-beta", "how-many")
            and not any(one in " ".join(words) for one in ELSEWHERE)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", SETTINGS, ids=" ".join)
def test_presets_and_settings_of_a_line_are_there(
    words: tuple[str, ...], made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    _given(words)
    settings = [word for word in words[2:] if "=" in word]
    preset = words[words.index("--preset") + 1] if "--preset" in words else words[1]
    from_command_line(preset if words[0] != "how-many" or "--preset" in words else "vae", settings)


RUN = [words for words in LINES
       if words[0] in QUICK and not any(one in " ".join(words) for one in ELSEWHERE)]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", RUN, ids=" ".join)
def test_a_quick_command_of_a_page_runs(
    words: tuple[str, ...], made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With three steps of training and the fastest inspection; nothing else is changed."""
    monkeypatch.chdir(made)
    if "onnx" in words:
        pytest.importorskip("onnxruntime")
    _given(words)
    line = ["runs/beta-vae-s0-1a2b3c4d" if word.endswith("-...") else word for word in words]
    if line[0] == "train":
        line = [word for word in line if not word.startswith("steps=")] + ["steps=3"]
    elif line[0] == "inspect" and "--effort" not in line:
        line += ["--effort", "fast" if "--nominal" in line else "latents"]
    if "--out" in line:  # several lines write to the same place
        line[line.index("--out") + 1] += (
            f"-{RUN.index(words)}" + Path(line[line.index("--out") + 1]).suffix
        )
    done = vaescope(*line)
    assert done.returncode == 0, done.stderr
