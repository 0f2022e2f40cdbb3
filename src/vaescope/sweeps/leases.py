"""Who may train a run, where `flock` cannot say: leases that end with their heartbeat.

On the file systems of one machine `Run.lock` is enough: the system lets go of it when the process
dies. Over a network it may be ignored, or be held for a dead client. There a worker also takes a
lease: a file `.lease-N` whose time stamp it renews. The owner is who made the highest N; whoever
finds that one expired makes N + 1, which only one can. Ages are differences of time stamps that the
file server gave, so the clocks of machines do not matter. Where the server's own clock was set
back, a lease is dated ahead and would never age: whoever sees it dates it anew, which a living
owner does anyway, and that of a dead one runs out from there.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from vaescope.errors import BusyError
from vaescope.paths import disk_errors

__all__ = ["held", "is_shared", "lease"]

#: Seconds between heartbeats, and until a lease without one is over: less than a minute.
BEAT, EXPIRY = 10.0, 45.0
#: Seconds by which a heartbeat may be later than the look at it.
AHEAD = 1.0

#: File systems of one machine, where flock is enough.
_LOCAL = (
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs",
    "rootfs", "tmpfs", "vfat", "xfs", "zfs",
)  # fmt: skip


def is_shared(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether other machines may write here too: any file system not known to be of one machine."""
    try:
        lines = mounts.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return False  # no Linux: flock it is
    place = folder.resolve()
    kinds: dict[Path, str] = {}
    for line in lines:
        _, where, kind, *_ = line.split(" ")
        kinds[Path(where.replace("\\040", " "))] = kind  # later mounts hide earlier ones
    for parent in (place, *place.parents):
        if parent in kinds:
            return kinds[parent] not in _LOCAL
    return False


def _highest(folder: Path) -> int:
    numbers = [name.removeprefix(".lease-") for name in os.listdir(folder)]
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def _path(folder: Path, number: int) -> Path:
    return folder / f".lease-{number}"


def _age(folder: Path, number: int) -> float | None:
    """Seconds since the lease's last heartbeat by the server's clock; None if it is gone."""
    probe = folder / f".probe-{uuid4().hex}"
    try:
        probe.touch()
        return probe.stat().st_mtime - _path(folder, number).stat().st_mtime
    except FileNotFoundError:
        return None
    finally:
        probe.unlink(missing_ok=True)


def _alive(folder: Path, number: int) -> bool:
    age = _age(folder, number) if number else None
    if age is not None and age < -AHEAD:
        with suppress(FileNotFoundError):
            os.utime(_path(folder, number))
    return age is not None and age < EXPIRY


def held(folder: Path) -> bool:
    """Whether a lease on this run is alive."""
    return _alive(folder, _highest(folder))


def _take(folder: Path) -> int | None:
    """The number of a lease of one's own, or None where somebody else has one."""
    last = _highest(folder)
    if _alive(folder, last):
        return None
    number = last + 1  # after the one that was judged, not after what is there by now
    try:
        _path(folder, number).open("x").close()
    except FileExistsError:
        return None
    if _highest(folder) > number:  # this number had been taken, given back and cleared away
        _path(folder, number).unlink(missing_ok=True)
        return None
    for old in range(max(number - 8, 1), number):
        _path(folder, old).unlink(missing_ok=True)
    return number


@contextmanager
def lease(folder: Path) -> Iterator[Callable[[], bool]]:
    """Holds a lease on a run; yields a function that says whether it was lost to somebody else."""
    with disk_errors(folder):
        number = _take(folder)
    if number is None:
        raise BusyError(f"Another process has the lease of {folder}.", "Wait for it.")
    mine, over, lost = _path(folder, number), threading.Event(), threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            try:
                os.utime(mine)
                if _highest(folder) > number:
                    lost.set()
            except FileNotFoundError:
                lost.set()
            except OSError:  # the server is away: try again; others see the lease run out
                continue

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    try:
        yield lost.is_set
    finally:
        over.set()
        heart.join()
        # Not deleted: numbers must not begin anew while somebody still looks at an old list.
        with disk_errors(folder):
            if mine.exists():
                os.utime(mine, (0, 0))
