"""A lease has one owner, and none for long after its owner died."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.waiting import until

from vaescope.errors import BusyError
from vaescope.sweeps import leases
from vaescope.sweeps.leases import held, is_shared, lease


def test_a_lease_keeps_others_out_and_is_given_back(tmp_path: Path) -> None:
    assert not held(tmp_path)
    with lease(tmp_path) as lost:
        assert held(tmp_path) and not lost()
        with pytest.raises(BusyError), lease(tmp_path):
            pass
        assert held(tmp_path)
    assert not held(tmp_path)
    with lease(tmp_path):
        assert held(tmp_path)


def test_a_lease_without_heartbeat_is_over_within_a_minute(tmp_path: Path) -> None:
    assert leases.EXPIRY + leases.BEAT < 60.0
    leases._take(tmp_path)  # its process is killed here
    assert held(tmp_path)
    (file,) = tmp_path.glob(".lease-*")
    then = time.time() - leases.EXPIRY - 1.0
    os.utime(file, (then, then))
    assert not held(tmp_path)
    with lease(tmp_path):
        assert held(tmp_path)


def test_a_heartbeat_keeps_a_lease_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.05)
    with lease(tmp_path) as lost:
        (file,) = tmp_path.glob(".lease-*")
        os.utime(file, (0, 0))
        until(lambda: held(tmp_path))
        assert not lost()


def test_an_owner_who_was_away_too_long_learns_that_it_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.05)
    with lease(tmp_path) as lost:
        (tmp_path / ".lease-2").touch()  # somebody found it expired
        until(lost)
    assert held(tmp_path)  # the other one's lease is not given back


def test_only_one_of_many_takes_an_expired_lease(tmp_path: Path) -> None:
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        (folder / ".lease-7").touch()
        os.utime(folder / ".lease-7", (0, 0))
        with ThreadPoolExecutor(8) as pool:
            taken = [n for n in pool.map(leases._take, [folder] * 8) if n is not None]
        assert taken == [8]


def test_who_comes_late_with_an_old_list_does_not_win(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".lease-3").touch()
    lists = iter([0, 3])  # saw no lease; then looks again
    monkeypatch.setattr(leases, "_highest", lambda folder: next(lists))
    assert leases._take(tmp_path) is None
    assert not (tmp_path / ".lease-1").exists()


@pytest.mark.parametrize(
    ("folder", "shared"),
    [("/home/x", True), ("/home", True), ("/scratch/a b/c", True), ("/tmp/x", False), ("/", False)],
)
def test_file_systems_of_several_machines_are_known(
    tmp_path: Path, folder: str, shared: bool
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\n"
        "fs /scratch/a\\040b lustre rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n"
    )
    assert is_shared(Path(folder), mounts) is shared
