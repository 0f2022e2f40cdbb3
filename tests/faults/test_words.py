"""Every command ends in its own words, and what it shows obeys nobody."""

import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.table import Table
from rich.text import Text

import vaescope as vs
from vaescope.cli import output
from vaescope.codes import Codes
from vaescope.errors import RunError, VaescopeError
from vaescope.escaping import markdown, printable
from vaescope.exporting.hub import load_pretrained, publish, save_pretrained
from vaescope.runs import Run
from vaescope.sealing import seal_document
from vaescope.studies.running import load_outcome
from vaescope.tuning.store import Folder

DEEP = "[" * 3000 + "]" * 3000
EVIL = "\x1b[31mred\x07<img src=x onerror=alert(1)>\u202e"


def test_escape_codes_never_reach_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console = output.messages(quiet=False)
    table = Table()
    table.add_column(EVIL)
    table.add_row(Text(EVIL))
    console.print(table)
    console.print(Text(EVIL), EVIL)
    logging.getLogger("vaescope").warning("%s", EVIL)
    output.result({}, EVIL, as_json=False)
    output.error("Kind", EVIL, EVIL, as_json=False)
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert "red" in text
        assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_printable_text_stays_as_it_is() -> None:
    for text in ("β = 0.5, σ²", "naïve\u00a0space", "日本\n\tx"):
        assert printable(text) == text


@pytest.mark.slow
def test_names_of_factors_are_text_on_the_card(run: Run, tmp_path: Path) -> None:
    from dataclasses import replace

    found = vs.inspect(run, effort="fast", images=False)
    latents = tuple(replace(latent, factor=EVIL) for latent in found.latents)
    out = save_pretrained(run, tmp_path / "hf", inspection=replace(found, latents=latents)).run
    card = out.card.read_text()
    assert "onerror" in card and "<img" not in card and "\x1b" not in card
    assert markdown("a < b") == "a &lt; b"


@pytest.mark.parametrize("content", [DEEP, "[]", "{", '{"versions": [1]}', '"x"', "\xff", ""])
def test_a_damaged_environment_is_named(run: Run, content: str) -> None:
    run.environment.write_text(content, encoding="latin-1")
    with pytest.raises(RunError, match=r"environment\.json"):
        vs.inspect(run, effort="fast", images=False)


@pytest.mark.parametrize(
    "change",
    [
        {"experiment": []}, {"experiment": None}, {"experiment": {"data": 3}}, {"format": [1]},
        {"format": {}}, {"digest": 3}, {"weights_sha256": []}, {"name": {"a": 1}}, {"files": 4},
        {"experiment": {"latent": 2**70}}, {"library": ["vaescope"]},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_types_in_the_config_of_an_export_are_refused(
    run: Run, tmp_path: Path, change: dict[str, Any]
) -> None:
    out = publish(run, tmp_path / "hf", "card").run
    config = {**json.loads(out.config.read_text()), **change}
    out.config.write_text(json.dumps(seal_document(config)))
    try:
        load_pretrained(out.path)
    except VaescopeError:
        return
    assert change.keys() <= {"name", "files"}  # what is not needed to load it


@pytest.mark.parametrize("content", [DEEP, "[]", "3", "{", '{"beta": 1}', '{"beta": []}', "null"])
def test_damaged_rows_of_a_tune_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "curve.jsonl").write_text(content + "\n")
    with pytest.raises(RunError, match=r"Line 1 of .*curve\.jsonl is damaged"):
        Folder(tmp_path).points("curve")


@pytest.mark.parametrize(
    "content", [DEEP, "[]", "3", "{", '{"settings": 3, "results": 4}', '{"study": {}}', "\xff"]
)
def test_damaged_tables_of_studies_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content, encoding="latin-1")
    with pytest.raises(RunError, match=r"a\.json is not a table of a study"):
        load_outcome(tmp_path / "a.json")


@pytest.mark.parametrize("content", [DEEP, "[]", "3", '{"seed": ' + "9" * 30 + "}"])
def test_deep_or_odd_specs_and_histories_are_named(run: Run, content: str) -> None:
    (run.path / "done.json").unlink()
    run.history.write_text(content + "\n")
    with pytest.raises(RunError, match=r"history\.jsonl is damaged"):
        run.records()
    (run.path / "spec.json").write_text(content)
    with pytest.raises(RunError, match=r"spec\.json"):
        run.open()


def test_data_of_another_shape_are_refused_in_words(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((5, 16, 16)))
    with pytest.raises(VaescopeError, match=r"shape \(1, 16, 16\)"):
        vs.inspect(run, str(tmp_path / "a.npz"), effort="fast")


def test_one_row_is_trained_and_refused_in_words_where_two_are_needed(tmp_path: Path) -> None:
    rows = np.full((1, 3), 0.5, dtype=np.float32)
    trained = vs.train("vae", rows, steps=2, latent=2, out=tmp_path)
    assert vs.encode(trained, rows).n == 1
    with pytest.raises(VaescopeError, match="two examples"):
        vs.inspect(trained, rows, effort="fast")


def test_a_folder_whose_name_is_not_utf8_is_read_and_shown(run: Run, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff"))
    run.path.rename(odd)
    found = vs.inspect(Run(odd), effort="fast", images=False)
    assert found.subject.name == "r\\udcff"
    found.save(tmp_path / "report.html")


def test_codes_that_rounding_makes_constant_are_said(caplog: pytest.LogCaptureFixture) -> None:
    factors = np.random.default_rng(0).normal(size=(200, 2))

    def codes(offset: float, kind: type[np.floating[Any]]) -> Codes:
        mean = (factors + offset).astype(kind)
        return Codes(mean=mean, variance=np.ones_like(mean), sample=mean, factor_values=factors,
                     factor_names=("a", "b"))  # fmt: skip

    with caplog.at_level(logging.WARNING, logger="vaescope"):
        for good in (codes(0.0, np.float32), codes(1e4, np.float32), codes(1e6, np.float64)):
            assert vs.metrics.mcc(good).value > 0.99
        assert not caplog.records
        assert vs.metrics.mcc(codes(1e6, np.float32)).value == 0.0
    assert "within the rounding of float32" in caplog.text


def test_ctrl_c_during_the_imports_ends_in_one_line(tmp_path: Path) -> None:
    """A module of the command line that takes for ever to import."""
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a job may begin without\n"
        "class Slow:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'vaescope.cli.app':\n"
        "            print('importing', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from vaescope.cli import main; main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None and started.stderr is not None
        assert started.stdout.readline() == b"importing\n"
        time.sleep(0.2)
        started.send_signal(signal.SIGINT)
        said = io.TextIOWrapper(started.stderr).read()
        assert started.wait(30) == 130
    assert said == "Stopped. Run the same command again.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_any_command_is_said_and_is_its_exit_code(number: signal.Signals) -> None:
    """A command that looks at no signals; with --json the error is the document."""
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from vaescope.cli import app as module\n"
        "@module.app.command('wait')\n"
        "def wait(as_json: bool = module.typer.Option(False, '--json')) -> None:\n"
        "    print('waiting', file=sys.stderr, flush=True); time.sleep(60)\n"
        "sys.argv = ['vaescope', 'wait', '--json']\n"
        "module.main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None and started.stderr is not None
        assert started.stderr.readline() == b"waiting\n"
        started.send_signal(number)
        said = json.loads(started.stdout.read())
        assert started.wait(30) == 128 + number
    assert said["error"]["message"] == f"Stopped by signal {int(number)}."
