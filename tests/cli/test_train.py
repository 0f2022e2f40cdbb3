"""What `vaescope train` does before and after the training itself."""

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console, Group

import vaescope as vs
from vaescope.cli.app import main
from vaescope.cli.train import TwoLines, parse_seeds, refuse_repeated, settings_with_seed
from vaescope.errors import RunError, UsageError

ONE_ROW = ["data.name=synth-linear", "data.n=1", "latent=2", "steps=2"]


def test_seeds_named_twice_are_one_run() -> None:
    assert parse_seeds("1,4,1") == [1, 4]


@pytest.mark.parametrize("text", ["0..99999999999", "0..99999999999999999999999"])
def test_more_seeds_than_anyone_trains_are_refused_at_once(text: str) -> None:
    with pytest.raises(UsageError, match="more than 10,000"):
        parse_seeds(text)


def test_two_seeds_for_one_run_are_refused() -> None:
    assert settings_with_seed(["steps=3"], 2) == ["steps=3", "seed=2"]
    with pytest.raises(UsageError, match="seed=1 and 2"):
        settings_with_seed(["seed=1"], 2)


def test_a_setting_given_twice_is_refused() -> None:
    refuse_repeated(["steps=3", "objective.beta=4"])
    with pytest.raises(UsageError, match="steps was given twice: steps=3 and steps=4"):
        refuse_repeated(["steps=3", "objective.beta=4", "steps=4"])


def test_an_unknown_device_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no device tpu"):
        vs.train("vae", "pinwheel", steps=2, out=tmp_path, device="tpu")
    assert not list(tmp_path.iterdir())


def test_a_run_that_cannot_be_summarised_is_trained_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RunError("The disk is gone.", "Look for it.")

    monkeypatch.setattr("vaescope.opening.open_model", broken)
    monkeypatch.setattr(sys, "argv", ["vaescope", "train", "vae", *ONE_ROW, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 0 and "There is no summary: The disk is gone." in said.err
    assert json.loads((Path(said.out.strip()) / "done.json").read_text())["steps"] == 2


@pytest.mark.parametrize("label", ["demo", "beta-vae-of-a-very-long-name-s0-0123456789abcdef"])
def test_progress_keeps_bar_count_and_time_to_go_at_80_columns(label: str) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    bar = TwoLines(console)
    what = "distortion 12345.67, rate 123.45, loss 12345.67 | 10 active, 2 mixed, 98 passive"
    bar.add_task(label, total=300_000, completed=123_456, speed="812.3 steps/s", what=what)
    with console.capture() as drawn:
        console.print(Group(*bar.get_renderables()))
    first, second = drawn.get().splitlines()
    assert len(first.rstrip()) <= 80 and "123456/300000" in first and label[:4] in first
    full = "\N{BOX DRAWINGS HEAVY HORIZONTAL}" * 9  # 41% of 24
    assert full in first and ":" in first[-8:]
    assert len(second) <= 80 and "812.3 steps/s | distortion" in second
