"""Processes that work side by side end with the one that they work for, by any signal."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.waiting import LIMIT, until

#: Each of two processes says who it is, and then works for longer than any test waits.
CODE = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` leaves it ignored
sys.path.insert(0, sys.argv[2])
from endless import work
from vaescope.process_pool import process_pool

if __name__ == "__main__":
    with process_pool(2) as pool:
        for _ in pool.map(work, [sys.argv[1]] * 6):
            pass
"""
WORK = f"""
import os, time
from pathlib import Path

def work(folder):
    (Path(folder) / str(os.getpid())).touch()
    time.sleep({10 * LIMIT})
"""


def ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")  # a process that nobody has waited for is no process any more
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("to", ["the parent", "the group"])
def test_a_signal_ends_all_processes_without_waiting_for_their_work(
    tmp_path: Path, name: str, to: str
) -> None:
    (tmp_path / "endless.py").write_text(WORK)
    script, folder = tmp_path / "parent.py", tmp_path / "working"
    script.write_text(CODE)
    folder.mkdir()
    command = [sys.executable, str(script), str(folder), str(tmp_path)]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(list(folder.iterdir())) == 2, process)
        workers = [int(path.name) for path in folder.iterdir()]
        send = os.kill if to == "the parent" else os.killpg
        send(process.pid, getattr(signal, name))
        process.wait(timeout=LIMIT)
        for pid in workers:
            until(lambda pid=pid: ended(pid))
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """What a test that fails has left."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=LIMIT)
