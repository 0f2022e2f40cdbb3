"""What another command believes is what was written: damage is found when it is read."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import vaescope as vs
from vaescope.checking import check
from vaescope.errors import DiskError, RunError, VaescopeError
from vaescope.exporting.hub import publish
from vaescope.inspection import inspect
from vaescope.runs import Run, strict_json
from vaescope.sealing import checkpoint_facts, is_sealed, seal_document, seal_row, sealed_rows
from vaescope.settings import from_command_line
from vaescope.tables import read_table
from vaescope.tuning.store import Folder

from .conftest import SETTINGS, flip, train


def header_bits(path: Path) -> int:
    return 8 * (8 + int.from_bytes(path.read_bytes()[:8], "little"))


@pytest.mark.slow
def test_every_bit_of_the_header_of_a_checkpoint_is_sealed(half: Run) -> None:
    content = half.state.read_bytes()
    assert checkpoint_facts(content)["step"] == 25
    for bit in range(header_bits(half.state)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError):
            checkpoint_facts(bytes(damaged))


def test_a_checkpoint_with_another_step_is_not_resumed(half: Run) -> None:
    """Step 25 with the bit that makes it 35, as the issue's 1991 and 1191."""
    content = half.state.read_bytes()
    at = content.index(b'step\\": 25') + len(b'step\\": ')
    flip(half.state, 8 * at)
    assert b'step\\": 35' in half.state.read_bytes()
    with pytest.raises(RunError, match=r"state\.safetensors is damaged"):
        train(half)


def test_a_bit_of_the_numbers_is_found(half: Run) -> None:
    flip(half.state, 8 * (half.state.stat().st_size - 3))
    with pytest.raises(RunError, match=r"state\.safetensors is damaged"):
        train(half)


def test_states_of_older_versions_are_read_and_said_to_be_unsealed(half: Run) -> None:
    from hashlib import sha256

    from safetensors.torch import load, save

    content = half.state.read_bytes()
    facts = checkpoint_facts(content)
    tensors = load(content)
    numbers = save(tensors)
    old = {key: facts[key] for key in ("format", "step", "digest")}
    old["sha256"] = sha256(numbers[8 + int.from_bytes(numbers[:8], "little") :]).hexdigest()
    half.state.write_bytes(save(tensors, {"vaescope": json.dumps(old)}))
    states = {finding.path.name: finding.state for finding in check(half.path).findings}
    assert states["state.safetensors"] == states["history.jsonl"] == "unsealed"
    train(half)
    assert half.is_done


@pytest.mark.slow
def test_every_bit_of_spec_and_done_and_history_is_found_or_changes_nothing(run: Run) -> None:
    """ "Changes nothing": white space of JSON may differ."""
    spec, records, weights = run.open(), run.records(), run.weights_sha256
    for name in ("spec.json", "done.json", "history.jsonl"):
        file = run.path / name
        bits = 8 * file.stat().st_size
        for bit in range(0, bits, 23):
            before = flip(file, bit)
            try:
                assert (run.open(), run.records(), run.weights_sha256) == (spec, records, weights)
                assert name == "done.json", f"bit {bit} of {name} is not sealed"
            except RunError:
                pass
            file.write_bytes(before)


@pytest.mark.parametrize("key", ["seed", "steps"])
def test_an_edited_spec_of_a_finished_run_is_refused(run: Run, key: str) -> None:
    file = run.path / "spec.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, key: content[key] + 1}))
    for read in (run.open, lambda: inspect(run, effort="fast"), lambda: read_table(run.path)):
        with pytest.raises(RunError, match=r"spec\.json"):
            read()


def test_an_edited_spec_of_an_unsealed_run_is_refused_by_its_digest(run: Run) -> None:
    done = run.path / "done.json"
    old = json.loads(done.read_text())
    done.write_text(
        json.dumps({k: v for k, v in old.items() if k not in ("seal", "sealed", "files")})
    )
    assert run.open().seed == 0 and run.seals() == {}
    file = run.path / "spec.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "seed": 1}))
    with pytest.raises(RunError, match=r"spec\.json is damaged or was changed"):
        run.open()


def test_a_cut_history_of_a_finished_run_is_refused(run: Run) -> None:
    run.history.write_bytes(b"".join(run.history.read_bytes().splitlines(keepends=True)[:-1]))
    for read in (run.records, lambda: read_table(run.path)):
        with pytest.raises(RunError, match=r"history\.jsonl is damaged"):
            read()
    run.history.unlink()
    with pytest.raises(RunError, match=r"history\.jsonl"):
        run.records()


def test_a_changed_row_of_an_unfinished_history_is_found_on_resuming(half: Run) -> None:
    half.history.write_bytes(half.history.read_bytes().replace(b'"step": 10,', b'"step": 11,'))
    with pytest.raises(RunError, match=r"history\.jsonl is damaged"):
        train(half)


def test_an_edited_config_of_an_export_is_refused_by_all_who_read_it(
    run: Run, tmp_path: Path
) -> None:
    out = publish(run, tmp_path / "hf", "card").run
    config = json.loads(out.config.read_text())
    assert is_sealed(config) and out.open() == run.open()
    config["experiment"]["seed"] = 5
    out.config.write_text(json.dumps(config))
    with pytest.raises(RunError, match=r"config\.json is damaged"):
        out.open()
    out.config.write_text(json.dumps(seal_document(config)))  # sealed again, by whoever changed it
    with pytest.raises(RunError, match=r"config\.json is damaged or was changed"):
        vs.inspect(out)


def test_rows_are_chained_and_prefixes_are_whole() -> None:
    content = b""
    for k in range(5):
        content += seal_row(content, json.dumps({"k": k})).encode()
    lines = content.splitlines(keepends=True)
    assert [row["k"] for row in sealed_rows(b"".join(lines[:3]))] == [0, 1, 2]
    assert [row["k"] for row in sealed_rows(content[:-3])] == [0, 1, 2, 3]
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            rows = list(sealed_rows(bytes(damaged)))
        except ValueError:
            continue
        # The last line end became something else: half a line, which is not read.
        assert rows == [{"k": k} for k in range(4)] and damaged[-1] != ord("\n")
    with pytest.raises(ValueError, match="no checksum"):
        list(sealed_rows(content + b'{"k": 9}\n'))
    old = b'{"k": 0}\n'
    assert [row["k"] for row in sealed_rows(old + seal_row(old, '{"k": 1}').encode())] == [0, 1]


def test_a_round_of_a_tune_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for step in (10, 20, 30):
        folder.add_round("beta-1", step, (0.1, 0.2))
    assert len(folder.rounds("beta-1", 30)) == 3
    file = tmp_path / "rounds.jsonl"
    file.write_text(file.read_text().replace('"step": 20', '"step": 25'))
    with pytest.raises(RunError, match=r"Line 2 of .*rounds\.jsonl is damaged"):
        folder.rounds("beta-1", 30)


@pytest.mark.slow
def test_check_finds_random_damage_to_every_kind_of_file(run: Run, tmp_path: Path) -> None:
    """200 damages: a bit, a cut or a lost file. Those of spec, weights and done are undone."""
    generator = np.random.default_rng(0)
    export = publish(run, tmp_path / "hf", "card").run
    tune = Folder(tmp_path / "tune")
    tune.create({"format": 1})
    for step in range(8):
        tune.add_round("beta-1", step, (0.1,))
    table = tmp_path / "table.json"
    table.write_text(strict_json(seal_document({"results": {"r": [0.5, 0.25]}}), indent=1))
    cell = tmp_path / "study" / "computed" / "cell.json"
    cell.parent.mkdir(parents=True)
    cell.write_text(strict_json(seal_document({"measured": {"mig": 0.5}}), indent=1))
    (run.path / ".state.safetensors.99999999").write_text("half")
    assert [f.state for f in check(run.path, repair=True).findings if f.state != "sound"] == [
        "repaired"
    ]
    ours = ["spec.json", "spec.yaml", "done.json", "weights.safetensors", "history.jsonl",
            "timing.jsonl", "environment.json", "state.safetensors"]  # fmt: skip
    files = [run.path / name for name in ours]
    files += [export.config, export.model, export.card, export.history]
    files += [tune.path / "tune.json", tune.path / "rounds.jsonl", table, cell]
    rebuilt = set(files[:4])
    for number in range(200):
        file = files[number % len(files)]
        before = file.read_bytes()
        whole = (export.config, table, cell)  # without them there is nothing to check
        place = file if file == table else file.parent
        if number // len(files) % 3 == 0 and file.suffix != ".jsonl" and file not in whole:
            file.unlink()
            if file.name in ("done.json", "state.safetensors"):
                file.write_bytes(b"")
        elif number // len(files) % 3 == 1 and file != tune.path / "rounds.jsonl":
            file.write_bytes(before[: int(generator.integers(len(before) - 2))])
        else:  # not white space, of which JSON has some that says nothing
            letters = [at for at, byte in enumerate(before) if chr(byte).isalnum()]
            flip(file, 8 * int(generator.choice(letters)) + int(generator.integers(7)))
        assert any(finding.path == file for finding in check(place).damaged), (number, file)
        left = check(place, repair=True)
        if file in rebuilt:
            assert file.read_bytes() == before, (number, file)
            assert not left.damaged
        file.write_bytes(before)


def test_the_command_ends_with_1_and_names_the_file(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from vaescope.cli import main

    def vaescope(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["vaescope", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().out

    assert vaescope("check", str(run.path))[0] == 0
    run.weights.unlink()
    code, said = vaescope("check", str(run.path))
    assert code == 1 and "lost:" in said and "weights.safetensors" in said
    code, said = vaescope("check", str(run.path), "--repair", "--json")
    assert code == 0 and run.weights.exists()
    assert {"repaired", "sound"} == {file["state"] for file in json.loads(said)["files"]}


def test_a_folder_without_anything_of_vaescope_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(VaescopeError, match="has no files of vaescope"):
        check(tmp_path)


def test_the_seal_covers_what_the_digest_leaves_out(run: Run) -> None:
    """`logging.every` is not in the digest: only the seal of spec.json knows that it was edited."""
    file = run.path / "spec.json"
    file.write_text(file.read_text().replace('"every": 10', '"every": 20'))
    for read in (run.open, lambda: inspect(run, effort="fast"), lambda: read_table(run.path)):
        with pytest.raises(RunError, match=r"spec\.json is damaged"):
            read()


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that stopped early, whose last weights are not its best."""
    settings = [*SETTINGS, "steps=400", "optimiser.lr=0.3", "validation.every=10",
                "validation.patience=3"]  # fmt: skip
    spec = from_command_line("vae", settings)
    run = Run.of(spec, "vae", tmp_path_factory.mktemp("validated"))
    run.create(spec)
    train(run)
    done = run.read_done()
    assert done["best_step"] < done["steps"] < 400
    return run


@pytest.mark.slow
def test_a_resumed_run_has_the_same_mark_to_the_byte(
    validated: Run, run: Run, tmp_path: Path
) -> None:
    for whole in (run, validated):
        cut = Run(tmp_path / "cut" / whole.path.name)
        cut.create(whole.open())
        train(cut, until=13)
        train(cut)
        for name in ("done.json", "weights.safetensors", "history.jsonl", "validation.jsonl"):
            if (whole.path / name).exists():
                assert (cut.path / name).read_bytes() == (whole.path / name).read_bytes(), name


def test_check_rebuilds_the_best_weights_of_a_run_that_stopped_early(
    validated: Run, tmp_path: Path
) -> None:
    copy = Run(Path(shutil.copytree(validated.path, tmp_path / validated.path.name)))
    for name in ("done.json", "weights.safetensors"):
        before = (copy.path / name).read_bytes()
        (copy.path / name).write_bytes(before[:-9])
        assert not check(copy.path, repair=True).damaged
        assert (copy.path / name).read_bytes() == before, name
    flip(copy.validation, 8 * 20)
    with pytest.raises(RunError, match=r"validation\.jsonl"):
        copy.validations()
    assert [found.path.name for found in check(copy.path).damaged] == ["validation.jsonl"]


def test_the_checkpoint_of_another_run_is_found(run: Run, half: Run) -> None:
    spec = from_command_line("vae", [*SETTINGS, "seed=1"])
    other = Run.of(spec, "vae", half.path.parent)
    other.create(spec)
    train(other, until=25)
    run.state.write_bytes(other.state.read_bytes())
    assert [found.path for found in check(run.path).damaged] == [run.state]


@pytest.mark.parametrize("name", ["state.safetensors", "spec.json", "done.json", "history.jsonl",
                                  "timing.jsonl", "weights.safetensors"])  # fmt: skip
@pytest.mark.parametrize("kind", ["folder", "loop", "pipe"])
def test_what_stands_in_the_place_of_a_file_is_refused_in_words(
    run: Run, name: str, kind: str
) -> None:
    file = run.path / name
    file.unlink()
    make = {
        "folder": file.mkdir,
        "loop": lambda: file.symlink_to(name),
        "pipe": lambda: os.mkfifo(file),
    }
    make[kind]()  # type: ignore[operator]
    with contextlib.suppress(VaescopeError):
        run.open()
        run.records()
        vs.load_vae(run)
    with contextlib.suppress(VaescopeError):
        read_table(run.path, timing=True)
    assert check(run.path).damaged or (kind, name) in (
        ("loop", "done.json"),
        ("loop", "state.safetensors"),
    )
    with contextlib.suppress(VaescopeError):
        train(run)


def test_a_pipe_in_the_place_of_the_lock_does_not_hang(half: Run) -> None:
    (half.path / ".lock").unlink()
    os.mkfifo(half.path / ".lock")
    with pytest.raises(DiskError):
        train(half)


@pytest.mark.parametrize("name", ["timing.jsonl", "history.jsonl"])
def test_a_last_line_without_its_end_is_found(run: Run, name: str) -> None:
    """Found by `make torture`: the row itself was whole, so the cut was not seen."""
    file = run.path / name
    file.write_bytes(file.read_bytes()[:-1])
    assert [finding.path.name for finding in check(run.path).damaged] == [name]
