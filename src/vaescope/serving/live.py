"""A run as it trains: its newest records, whether a process has it, and when it will be done."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vaescope.reading import open_regular, parse_json
from vaescope.sealing import sealed_rows

__all__ = ["LiveRecords", "eta_seconds", "held_locks", "is_running", "records_after"]

#: Bytes of a history that one answer covers.
CHUNK = 4 * 2**20
#: Seconds after which a lease, or a history where locks cannot be seen, counts as left.
EXPIRY = 45.0
_LOCKS = Path("/proc/locks")


@dataclass(frozen=True)
class LiveRecords:
    """Records from a place in the history on, and the place where the next ones will be."""

    rows: list[dict[str, Any]]
    offset: int
    restarted: bool  # the history is shorter than it was: earlier records do not count any more
    more: bool = False  # there are more records than one answer covers


def records_after(folder: Path, offset: int) -> LiveRecords:
    """Whole lines after `offset` bytes. A line that is damaged ends them."""
    try:
        with open_regular(folder / "history.jsonl") as file:
            size = os.fstat(file.fileno()).st_size
            restarted = offset > size
            offset = 0 if restarted else offset
            file.seek(offset)
            content = file.read(CHUNK)
    except (OSError, ValueError):
        return LiveRecords([], 0, offset > 0)
    rows = []
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        try:
            row = parse_json(line)
        except ValueError:
            break
        if not isinstance(row, dict) or not isinstance(row.get("step"), int):
            break
        rows.append(row)
        offset += len(line)
    return LiveRecords(rows, offset, restarted, more=bool(rows) and len(content) == CHUNK)


def held_locks() -> frozenset[str] | None:
    """Files that processes have locked, as device and inode; None where the system is silent."""
    try:
        return frozenset(line.split()[-3] for line in _LOCKS.read_text().splitlines())
    except (OSError, IndexError):
        return None


def is_running(folder: str | Path, locks: frozenset[str] | None) -> bool:
    """Whether some process trains this run. Nothing is locked or written to find out: a process
    that wants the run must not meet us."""
    try:
        names = os.listdir(folder)
        leases = [f"{folder}/{name}" for name in names if name.startswith(".lease-")]
        newest = max((os.stat(path).st_mtime for path in leases), default=0.0)
        if time.time() - newest < EXPIRY:
            return True
        if ".lock" not in names:
            return False
        if locks is None:
            return time.time() - os.stat(f"{folder}/history.jsonl").st_mtime < EXPIRY
        info = os.stat(f"{folder}/.lock")
        device = info.st_dev
        return f"{os.major(device):02x}:{os.minor(device):02x}:{info.st_ino}" in locks
    except OSError:
        return False


def eta_seconds(folder: Path, steps: int) -> float | None:
    """Seconds until the last step, at the pace of the last records of this process."""
    try:
        with open_regular(folder / "timing.jsonl") as file:
            rows = list(sealed_rows(file.read(CHUNK)))
        pace = [(int(row["step"]), float(row["seconds"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    begun = max((i for i in range(1, len(pace)) if pace[i][1] < pace[i - 1][1]), default=0)
    recent = pace[begun:][-10:]
    if len(recent) < 2 or recent[-1][0] <= recent[0][0]:
        return None
    per_step = (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])
    return max(0.0, per_step * (steps - recent[-1][0]))
