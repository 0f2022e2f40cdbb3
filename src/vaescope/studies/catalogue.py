"""All studies, in the order of the papers."""

from difflib import get_close_matches

from vaescope.errors import UsageError
from vaescope.studies import paper_000, paper_001, paper_002, paper_003, paper_004
from vaescope.studies.study import Study

__all__ = ["STUDIES", "TOTAL", "find"]

STUDIES: tuple[Study, ...] = (
    *paper_000.STUDIES,
    *paper_001.STUDIES,
    *paper_002.STUDIES,
    *paper_003.STUDIES,
    *paper_004.STUDIES,
)

#: Claims in all, for which every interval is corrected.
TOTAL = sum(len(study.claims) for study in STUDIES)


def find(name: str) -> tuple[Study, ...]:
    """The study of an id, or the parts of one: `002/table-3.3` is all that begin with it, `002` all
    of that paper."""
    parts = tuple(s for s in STUDIES if s.id.startswith((f"{name}-", f"{name}/")))
    exact = tuple(s for s in STUDIES if s.id == name)
    if not exact and not parts:
        near = get_close_matches(name, [s.id for s in STUDIES], n=3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"There is no study {name}.", f"{hint}`vaescope study` lists all.")
    return exact or parts
