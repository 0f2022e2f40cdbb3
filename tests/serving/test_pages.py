"""Pages say what is on the disk, also while it changes."""

import fcntl
import json
import re
import shlex
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.serving.conftest import ORIGIN
from tests.waiting import until

from vaescope.errors import DiskError
from vaescope.runs import Run
from vaescope.serving import app
from vaescope.serving.jobs import Jobs
from vaescope.serving.listing import listed
from vaescope.serving.live import held_locks, is_running, records_after
from vaescope.serving.notes import Note, Notes
from vaescope.serving.resume_command import resume_command
from vaescope.serving.site import Site
from vaescope.serving.view import View, view_of
from vaescope.settings import from_command_line

FAILED = "beta-vae-s3-failed"


def test_a_failed_run_shows_its_message(client: TestClient) -> None:
    text = client.get(f"/run?path={FAILED}").text
    assert "DataError: The file is truncated." in text
    assert "give the command that trained it again" in text


def test_clients_that_ask_together_share_one_page(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, real = [], app._runs_page

    def slow(site: Site, view: View) -> str:
        made.append(view)
        time.sleep(0.5)
        return real(site, view)

    monkeypatch.setattr(app, "_runs_page", slow)
    with ThreadPoolExecutor(6) as pool:
        pages = list(pool.map(lambda _: client.get("/?q=beta>=2 mig>.2"), range(6)))
    assert len(made) == 1 and {page.status_code for page in pages} == {200}
    assert len({page.text for page in pages}) == 1


def test_the_command_that_resumes_is_the_run_s_own(tmp_path: Path) -> None:
    given = ["objective.beta=2.5", "optimiser.lr=0.001", "data.name=mnist", "seed=4"]
    spec = from_command_line("beta-vae", given)
    run = Run.of(spec, "beta-vae", tmp_path)
    run.create(spec)
    command = resume_command(run.path)
    assert command is not None
    words = shlex.split(command)
    assert words[:3] == ["vaescope", "train", "beta-vae"]
    again = from_command_line("beta-vae", words[3 : words.index("--out")])
    assert Run.of(again, "beta-vae", tmp_path).path == run.path
    renamed = run.path.rename(tmp_path / "mine")
    assert resume_command(renamed) is None


def test_no_command_is_said_to_resume_a_damaged_run(
    site_client: tuple[Site, TestClient], folder: Path
) -> None:
    site, client = site_client
    shutil.copytree(folder / "beta-vae-s0-b4", folder / "damaged")
    (folder / "damaged" / "spec.json").write_text("")
    until(lambda: site.snapshot().find("damaged"))
    said = client.get("/run?path=damaged").text
    shutil.rmtree(folder / "damaged")
    assert "spec.json is damaged" in said and "resumes it" not in said and "it resumes" not in said


def test_a_run_that_is_renamed_or_deleted_while_its_page_is_open(
    site_client: tuple[Site, TestClient], folder: Path
) -> None:
    site, client = site_client
    shutil.copytree(folder / "beta-vae-s0-b4", folder / "moving")
    until(lambda: site.snapshot().find("moving"))
    assert client.get("/run?path=moving").status_code == 200
    (folder / "moving").rename(folder / "moved")
    until(lambda: client.get("/run?path=moving").status_code == 404)
    until(lambda: "It is now moved" in client.get("/run?path=moving").text)
    gone = client.get("/api/live?path=moving").json()
    assert (gone["state"], gone["moved"]) == ("gone", "moved")
    shutil.rmtree(folder / "moved")
    assert client.get("/run?path=moved").status_code == 404
    until(lambda: site.snapshot().find("moved") is None)
    assert client.get("/").status_code == 200


@pytest.mark.slow
def test_new_runs_appear_by_themselves(site_client: tuple[Site, TestClient], folder: Path) -> None:
    _, client = site_client
    tag = client.get("/api/version").json()["tag"]
    shutil.copytree(folder / "beta-vae-s1-b4", folder / "fresh")
    until(lambda: client.get("/api/version").json()["tag"] != tag)
    assert "/run?path=fresh" in client.get("/?q=fresh").text
    shutil.rmtree(folder / "fresh")


def test_records_are_read_from_where_the_last_ones_ended(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    rows = [json.dumps({"step": step, "loss": 1.0}) + "\n" for step in (1, 2, 3)]
    path.write_text(rows[0] + rows[1][:5])
    first = records_after(tmp_path, 0)
    assert [row["step"] for row in first.rows] == [1]
    path.write_text("".join(rows))
    then = records_after(tmp_path, first.offset)
    assert [row["step"] for row in then.rows] == [2, 3]
    path.write_text(rows[0])  # it was taken up from an earlier checkpoint
    cut = records_after(tmp_path, then.offset)
    assert (cut.restarted, [row["step"] for row in cut.rows]) == (True, [1])
    path.unlink()
    assert records_after(tmp_path, 5).rows == []


def test_a_lock_says_that_a_run_is_training(tmp_path: Path) -> None:
    assert not is_running(tmp_path, held_locks())
    with (tmp_path / ".lock").open("w") as file:
        assert not is_running(tmp_path, held_locks())
        fcntl.flock(file, fcntl.LOCK_EX)
        assert is_running(tmp_path, held_locks())
    assert not is_running(tmp_path, held_locks())


def test_notes_are_kept_beside_the_runs_and_nothing_else_is(
    client: TestClient, folder: Path
) -> None:
    before = sorted(str(path) for path in folder.rglob("*"))
    body = {"path": "beta-vae-s0-b4", "star": True, "text": "the <b>best</b>"}
    assert client.post("/api/note", json=body, headers=ORIGIN).status_code == 200
    assert "the &lt;b&gt;best" in client.get("/run?path=beta-vae-s0-b4").text
    assert client.get("/?q=star%3Dyes").text.count('class="setting"') == 1
    assert client.post("/api/note", json={"path": "nope"}, headers=ORIGIN).status_code == 404
    client.post("/api/note", json={"path": body["path"]}, headers=ORIGIN)
    after = sorted(str(path) for path in folder.rglob("*") if path.name != ".vaescope-notes.json")
    assert after == before


def test_a_damaged_file_of_notes_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / ".vaescope-notes.json"
    file.write_text('{"runs": ')
    notes = Notes(tmp_path)
    assert notes.read() == {}
    with pytest.raises(DiskError, match="damaged"):
        notes.write("run", Note(star=True))
    assert file.read_text() == '{"runs": '


def test_work_that_nobody_waits_for_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaescope.serving.jobs.PATIENCE", 0.3)
    jobs = Jobs(tmp_path)
    task = {"kind": "report", "runs": [str(tmp_path)], "root": str(tmp_path)}
    job = jobs.ask("key", {**task, "imports": False, "public": False})
    until(lambda: job.state == "cancelled")
    assert not (tmp_path / "key.html").exists()
    jobs.close()


def test_a_view_is_saved_as_one_file(client: TestClient) -> None:
    answer = client.get("/save?q=beta%3E%3D1&sort=-beta")
    assert "attachment" in answer.headers["content-disposition"]
    assert "Filter: beta&gt;=1." in answer.text
    assert not re.search(r"<[^>]*(src|href)=.?(http|/)", answer.text.split("<script")[0])
    assert answer.text.index(">4.0<") < answer.text.index(">1.0<")


def test_a_saved_view_has_its_scatter_its_seeds_and_drawn_traversals(
    site_client: tuple[Site, TestClient],
) -> None:
    site, client = site_client
    (group, *_) = listed(site.snapshot(), View(q="beta=4")).groups
    strip = site.strip_file(group.shown)
    strip.parent.mkdir(exist_ok=True)
    strip.write_bytes(b"\x89PNG")
    found = view_of([("q", "beta=4"), ("x", "rate"), ("y", "mean.mig"), ("open", group.key)])
    text = client.get(f"/save{found.query(sel=(group.shown.path,))[1:]}").text
    assert "mean.mig against rate of each setting" in text
    assert all(f">{entry.path}<" in text for entry in group.entries)
    assert "1 of 1 finished rows" in text and "iVBOR" in text
    assert f"Basket: {group.shown.path}." in text
    strip.unlink()


def test_sweeps_show_their_progress(client: TestClient) -> None:
    until(lambda: 'max="8" value="6"' in client.get("/folders").text)  # copies of above are gone
