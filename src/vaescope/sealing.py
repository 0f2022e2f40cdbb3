"""Seals: digests by which a reader knows that a file is what vaescope wrote.

A JSON document has `sealed: 1` and the `seal` of everything else in it; a file of rows has in each
row the seal of all bytes up to it; a checkpoint has in its header the seal of the whole file. What
is older has none of these, is read, and is said to be unsealed. Two marks, so that a document whose
one mark is damaged does not look like an old one. A seal finds damage; it is no signature.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from vaescope.reading import parse_json

__all__ = [
    "PLACE",
    "RowSeals",
    "checkpoint_facts",
    "is_sealed",
    "seal_checkpoint",
    "seal_document",
    "seal_row",
    "sealed_rows",
    "sha256_of",
]

#: Stands for a seal in the bytes that it is the seal of.
PLACE = "0" * 64
#: Facts of a checkpoint that was written before there were seals.
_UNSEALED = {"format", "step", "digest", "sha256"}
_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_ROW = re.compile(rb', "seal": "([0-9a-f]{16})"\}$')


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _document_seal(content: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "seal"}
    return sha256_of(_COMPACT.encode(rest).encode())


def seal_document(content: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON document of finite numbers with its seal."""
    plain = {**content, "sealed": 1}
    return {**plain, "seal": _document_seal(plain)}


def is_sealed(content: Mapping[str, Any]) -> bool:
    """Whether a document has a seal. Raises ValueError where it does not fit the document."""
    if "seal" not in content and "sealed" not in content:
        return False
    if content.get("seal") != _document_seal(content) or content.get("sealed") != 1:
        raise ValueError("it does not match its checksum")
    return True


class RowSeals:
    """Seals the rows of a file as they are appended. What is before the next row is hashed once."""

    def __init__(self, before: bytes = b"") -> None:
        self._before = hashlib.sha256(before)

    def line(self, row: str) -> str:
        """The JSON object `row` as the next line, with the seal of all bytes up to it."""
        seal = self._before.copy()
        seal.update(row.encode())
        line = f'{row[:-1]}, "seal": "{seal.hexdigest()[:16]}"}}\n'
        self._before.update(line.encode())
        return line


def seal_row(before: bytes, row: str) -> str:
    """The JSON object `row` as a line of a file that holds `before`, with the seal of both."""
    return RowSeals(before).line(row)


def sealed_rows(content: bytes) -> Iterator[dict[str, Any]]:
    """The rows of a file by `seal_row`, without their seals; half a line at the end is left out.

    Raises ValueError at the first row that does not match its checksum, or lacks one after a row
    that has it.
    """
    before, chained = hashlib.sha256(), False
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        found = _ROW.search(line[:-1])
        if found is not None:
            row = line[: found.start()] + b"}"
            seal = before.copy()
            seal.update(row)
            if seal.hexdigest()[:16] != found[1].decode():
                raise ValueError("it does not match its checksum")
            chained = True
        elif chained:
            raise ValueError("it has no checksum")
        else:
            row = line
        loaded = parse_json(row)
        if not isinstance(loaded, dict):
            raise ValueError("it is not a mapping of keys")
        yield loaded
        before.update(line)


def seal_checkpoint(content: bytes) -> bytes:
    """A safetensors file whose facts have PLACE for their seal, with the seal in its place."""
    return content.replace(PLACE.encode(), sha256_of(content).encode(), 1)


def checkpoint_facts(content: bytes) -> dict[str, Any]:
    """What vaescope wrote into the header of a safetensors file, checked against its seal.

    Raises ValueError where it is damaged. Facts without `seal` are of an older file.
    """
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        facts = parse_json(parse_json(content[8:start])["__metadata__"]["vaescope"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"its header lacks {error}") from error
    if not isinstance(facts, dict) or not isinstance(facts.get("format"), int):
        raise ValueError("its header names no format")
    seal = facts.get("seal")
    if seal is None:
        if not facts.keys() <= _UNSEALED:
            raise ValueError("its checksum is missing")
        if facts.get("sha256", sha256_of(content[start:])) != sha256_of(content[start:]):
            raise ValueError("its numbers are not those that were saved")
        return facts
    head = content[:start].replace(str(seal).encode(), PLACE.encode(), 1)
    if hashlib.sha256(head + content[start:]).hexdigest() != seal:
        raise ValueError("it does not match its checksum")
    return facts
