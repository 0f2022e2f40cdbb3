"""What the shell offers at the tab key: names that commands take. Only studies need torch."""

from collections.abc import Iterable

__all__ = ["citations", "datasets", "presets", "settings", "studies"]


def presets(incomplete: str) -> list[tuple[str, str]]:
    """Presets with the line that says what each is."""
    from vaescope.presets import PRESETS

    return [(name, said) for name, said in PRESETS.items() if name.startswith(incomplete)]


def datasets(incomplete: str) -> list[str]:
    """Names of datasets; where none fits, the shell offers files."""
    from vaescope.data import CARDS

    return _fitting(CARDS, incomplete)


def studies(incomplete: str) -> list[str]:
    """IDs of studies. Their modules name networks, so that this takes a few seconds."""
    from vaescope.studies.catalogue import STUDIES

    return _fitting([study.id for study in STUDIES], incomplete)


def citations(incomplete: str) -> list[str]:
    """What `vaescope cite` knows, but for studies."""
    from vaescope.citations import BIBTEX, METHODS
    from vaescope.data import CARDS

    return _fitting(dict.fromkeys([*BIBTEX, *METHODS, *CARDS]), incomplete)


def settings(incomplete: str) -> list[str]:
    """Settings up to their `=`."""
    from vaescope.settings import settings_of

    return _fitting(dict.fromkeys(f"{key}=" for key in settings_of()), incomplete)


def _fitting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
