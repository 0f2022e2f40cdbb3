"""Loops in C for what NumPy and torch are slow at, compiled once for this machine and kept.

A loop here has the same function in Python beside its caller, which is used where there is no C
compiler, or where `VAESCOPE_NATIVE=0`: nothing but time depends on it.
"""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from vaescope.paths import cache_folder

__all__ = ["library", "machine"]

_LOG = logging.getLogger("vaescope")

#: Products are not fused with sums, so that results are those of NumPy to the last bit.
_EXACT = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")
#: Sums in any order and products fused, for what is promised to a tolerance. Not -ffast-math: a
#: library linked with it makes the whole process flush small numbers to 0.
_FAST = (
    "-O3", "-march=native", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math",
    "-freciprocal-math", "-fno-math-errno", "-fPIC", "-shared",
)  # fmt: skip
#: Of each source: its flags and what it is linked with.
_FLAGS = {
    "boosting": (_EXACT, ()),
    "exact_trees": (_EXACT, ("-lm",)),
    "tanh_fit": (_FAST, ("-lm",)),
    "stack": (_FAST, ("-lm",)),
    "deconvolution": (_FAST, ()),
    "sprites": (_EXACT, ()),
}  # fmt: skip


@functools.cache
def library(name: str, **constants: int) -> ctypes.CDLL | None:
    """The compiled source of this name, its constants defined so, or None where it cannot be
    compiled."""
    if os.environ.get("VAESCOPE_NATIVE", "1") == "0":
        return None
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        _LOG.info("no C compiler: %s runs in Python", name)
        return None
    source = Path(__file__).with_name(f"{name}.c")
    flags, linked = _FLAGS[name]
    flags = (*flags, *(f"-D{key}={value}" for key, value in sorted(constants.items())))
    headers = [path.read_bytes() for path in sorted(source.parent.glob("*.h"))]
    content = [source.read_bytes(), *headers, " ".join((*flags, *linked)).encode(), machine()]
    digest = hashlib.sha256(b"\0".join(content)).hexdigest()[:32]
    try:
        folder = cache_folder() / "native"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o022:
            _LOG.info("%s is writable by other users: %s runs in Python", folder, name)
            return None
        built = folder / f"{name}-{digest}.so"
        if not built.exists():
            _compile([compiler, *flags], source, linked, built)
        return ctypes.CDLL(str(built))
    except (OSError, subprocess.SubprocessError) as error:
        _LOG.info("%s runs in Python: %s", name, error)
        return None


def _compile(command: list[str], source: Path, linked: tuple[str, ...], built: Path) -> None:
    """Under a name of its own first: two processes may compile at once, and one may be killed."""
    handle, scratch = tempfile.mkstemp(dir=built.parent, suffix=".so")
    os.close(handle)
    try:
        subprocess.run(
            [*command, "-o", scratch, str(source), *linked],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        os.replace(scratch, built)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def machine() -> bytes:
    """What decides which instructions there are: a home may be shared by several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()} {platform.node()}".encode()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)})).encode()
