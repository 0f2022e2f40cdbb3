"""What factors call matched latents, carried over from the runs in which they name one."""

from collections.abc import Sequence

from vaescope.codes import Codes
from vaescope.comparing.compared_runs import letter
from vaescope.comparing.matching import Match
from vaescope.latents import Types
from vaescope.latents.groups import groups_if_known
from vaescope.wording import listed

__all__ = ["latent_names"]


def latent_names(
    codes: Sequence[Codes], kinds: Sequence[Types], matches: Sequence[Match]
) -> tuple[str | None, ...]:
    """One for each match; None where no run names it. Where runs name it differently, each name
    stands with its run: `x in A and y in B`."""
    found = [groups_if_known(own, kind) for own, kind in zip(codes, kinds, strict=True)]
    names = []
    for match in matches:
        said: dict[str, list[str]] = {}
        for place, (one, own) in enumerate(zip(match, found, strict=True)):
            # Latents that were only left over have nothing in common that a name could be of.
            if one is None or own is None or one.how == "rest":
                continue
            group = own.of(one.latent)
            if group is not None:
                called = listed(group.factors)
                called += ", with others" if len(group.latents) > 1 else ""
                said.setdefault(called, []).append(letter(place))
        names.append(_joined(said))
    return tuple(names)


def _joined(said: dict[str, list[str]]) -> str | None:
    if len(said) > 1:
        return listed([f"{name} in {listed(runs)}" for name, runs in said.items()])
    return next(iter(said), None)
