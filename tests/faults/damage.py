"""Damaged files of a finished run: flipped bits, cut ends, swapped files, things in their place."""

import os
import shutil

import numpy as np

from vaescope.checking import check
from vaescope.sealing import checkpoint_facts

from .world import FILES, Failed, World, in_our_words

Random = np.random.Generator


def _header(world: World) -> int:
    content = world.contents["state.safetensors"]
    return 8 + int.from_bytes(content[:8], "little")


def _places(world: World) -> list[tuple[str, int]]:
    """The files whose bits are all flipped, and how many bytes of each."""
    spec, history = (len(world.contents[name]) for name in ("spec.json", "history.jsonl"))
    return [("state.safetensors", _header(world)), ("spec.json", spec), ("history.jsonl", history)]


def count_bits(world: World) -> int:
    """Bits of the header of the state, of spec and of history."""
    return 8 * sum(size for _, size in _places(world))


def bits(world: World, case: int, random: Random) -> None:
    """Each bit of the header of the state, of spec and of history in turn."""
    for name, size in _places(world):
        if case < 8 * size:
            _flipped(world, name, case)
            return
        case -= 8 * size


def flip(world: World, case: int, random: Random) -> None:
    """One bit of any file."""
    name = FILES[case % len(FILES)]
    _flipped(world, name, int(random.integers(8 * len(world.contents[name]))))


def _flipped(world: World, name: str, bit: int) -> None:
    content = bytearray(world.contents[name])
    content[bit // 8] ^= 1 << bit % 8
    _damaged(world, name, bytes(content), f"bit {bit}")


def cut(world: World, case: int, random: Random) -> None:
    """A file that ends at any byte before its last."""
    name = FILES[case % len(FILES)]
    size = int(random.integers(len(world.contents[name])))
    _damaged(world, name, world.contents[name][:size], f"the end after {size} bytes")


def _damaged(world: World, name: str, content: bytes, what: str) -> None:
    file = world.copy.path / name
    file.write_bytes(content)
    try:
        if name == "state.safetensors":  # nothing else reads it of a run that is done
            try:
                checkpoint_facts(content)
            except ValueError:
                return
            raise Failed(f"{what} of {name} was believed")
        world.require_sound(name, what)
    finally:
        file.write_bytes(world.contents[name])


def swap(world: World, case: int, random: Random) -> None:
    """Some files of another run of the same kind in place of its own."""
    count = int(random.integers(1, len(FILES)))
    names = sorted(random.choice(FILES, size=count, replace=False).tolist())
    changed = []
    for name in names:
        theirs = (world.other.path / name).read_bytes()
        changed += [name] if theirs != world.contents[name] else []
        (world.copy.path / name).write_bytes(theirs)
    try:
        for read in world.readers().values():
            in_our_words(read)
        found = {finding.path.name for finding in check(world.copy.path).damaged}
        if set(changed) - {"timing.jsonl"} and not found:
            raise Failed(f"`vaescope check` did not find {', '.join(changed)} of another run")
    finally:
        for name in names:
            (world.copy.path / name).write_bytes(world.contents[name])


def obstacle(world: World, case: int, random: Random) -> None:
    """A folder, a loop of links, a pipe, a link to nowhere or to a device in place of a file."""
    name = (*FILES, "spec.yaml", ".lock")[case % (len(FILES) + 2)]
    file = world.copy.path / name
    file.unlink(missing_ok=True)
    match case // (len(FILES) + 2) % 5:
        case 0:
            file.mkdir()
        case 1:
            file.symlink_to(file.name)
        case 2:
            os.mkfifo(file)
        case 3:
            file.symlink_to("nowhere")
        case _:
            file.symlink_to("/dev/zero")
    try:
        for read in world.readers().values():
            in_our_words(read)
        in_our_words(lambda: check(world.copy.path))
    finally:
        shutil.rmtree(world.copy.path.parent)
        world.restore()
