"""Pyro: a VAE is two programs, `model` and `guide`, and both are traced.

The latent site of the guide is q(z|x), the same site of the model is p(z), and the observed site of
the model is p(x|z). Bingham et al. 2019, https://arxiv.org/abs/1810.09538.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

import torch
from torch import Tensor, distributions

from vaescope.errors import ReadingError, UsageError

__all__ = ["Programs"]

Site = Any  # a message of Pyro
_FUNCTIONS = "To dissect one of them, pass encode= as a function that returns its (mean, logvar) "
_FUNCTIONS += "and decode= as one of its latents, the others at their means."


@final
class Programs:
    """The programs of one model as functions of a batch that return distributions.

    `model` takes data too, if only for their number and shape: those of the guide's last batch.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self._x: Tensor | None = None
        self._u: Tensor | None = None
        self._latent = ""  # what the guide calls its latent

    def posterior(self, x: Tensor, u: Tensor | None = None) -> distributions.Distribution:
        """q(z|x)."""
        sites = _latent(self._trace(self.owner.guide, x, u))
        name = self._only(sites, "guide")
        self._x, self._u, self._latent = x.detach(), u, name
        return _distribution(sites[name])

    def likelihood(self, z: Tensor, u: Tensor | None = None) -> distributions.Distribution:
        """p(x|z)."""
        assert self._x is not None, "the guide comes first"
        places = torch.arange(z.shape[0]) % len(self._x)
        return self._at(self._x[places], z, u)

    def prior(self) -> distributions.Distribution:
        """p(z) of one example. Raises ReadingError where it differs between examples, and where
        p(x|z) is not a function of z alone."""
        assert self._x is not None, "the guide comes first"
        x, u = self._x, self._u
        sites = _latent(self._trace(self.owner.model, x, u))
        p = _distribution(sites[self._only(sites, "model")])
        here, other = (self._at(seen, p.mean, u).mean for seen in (x, torch.zeros_like(x)))
        if not torch.allclose(here, other, rtol=1e-4, atol=1e-6):
            raise ReadingError(
                f"{self._called} sees x itself when it decodes, not the latents alone.",
                "Pass encode= and decode= as functions, with the decoder in the form that you "
                "want dissected.",
            )
        return _of_one_example(p, self._called)

    @property
    def _called(self) -> str:
        return type(self.owner).__name__

    def _at(self, x: Tensor, z: Tensor, u: Tensor | None) -> distributions.Distribution:
        from pyro import poutine

        name = self._latent
        fixed = poutine.condition(self.owner.model, data={name: z})
        trace = self._trace(fixed, x, u)
        if name not in trace:
            raise UsageError(
                f"The guide of {self._called} draws {name!r}, which its model does not.",
                "Give both sites the same name.",
            )
        observed = [site for key, site in trace.items() if site["is_observed"] and key != name]
        if len(observed) != 1:
            raise UsageError(
                f"The model of {self._called} observes {len(observed)} sites; wanted the data.",
                "Pass encode= and decode= as functions.",
            )
        return _distribution(observed[0])

    def _trace(self, program: Callable[..., Any], x: Tensor, u: Tensor | None) -> dict[str, Site]:
        from pyro import poutine

        with _parameters():
            trace = poutine.trace(program).get_trace(x, *(() if u is None else (u,)))
        return {
            name: site for name, site in trace.nodes.items()
            if site["type"] == "sample" and not _subsamples(site)
        }  # fmt: skip

    def _only(self, sites: dict[str, Site], program: str) -> str:
        """The name of the one latent."""
        discrete = [name for name, site in sites.items() if site["fn"].support.is_discrete]
        if discrete:
            raise UsageError(
                f"The {program} of {self._called} draws {discrete[0]!r}, which is discrete: it has "
                "no mean and spread.",
                "Pass it as condition= if it is a known label; else pass encode= and "
                "decode= for the continuous latents.",
            )
        if len(sites) != 1:
            found = ", ".join(sites) or "nothing"
            raise UsageError(
                f"The {program} of {self._called} draws {found}; wanted one latent of each "
                "example.", _FUNCTIONS,
            )  # fmt: skip
        return next(iter(sites))


@contextmanager
def _parameters() -> Iterator[None]:
    """Pyro's global parameters, put back: `pyro.module` enters those of a model there."""
    import pyro

    store = pyro.get_param_store()
    with store.scope(store.get_state()):
        yield


def _subsamples(site: Site) -> bool:
    return type(site["fn"]).__name__ == "_Subsample"


def _latent(sites: dict[str, Site]) -> dict[str, Site]:
    return {name: site for name, site in sites.items() if not site["is_observed"]}


def _distribution(site: Site) -> distributions.Distribution:
    """That of a site, without the mask that some programs put over it."""
    fn: Any = site["fn"]
    while type(fn).__name__ == "MaskedDistribution":
        fn = fn.base_dist
    if isinstance(fn, distributions.TransformedDistribution):
        raise UsageError(
            f"The site {site['name']!r} is a flow, so its mean and KL have no closed form.",
            "To have the Gaussian before it dissected, pass encode= as a function that returns its "
            "(mean, logvar) and decode= as one of its latents.",
        )
    found: distributions.Distribution = fn
    return found


def _of_one_example(p: distributions.Distribution, name: str) -> distributions.Distribution:
    base: Any = p
    while isinstance(base, distributions.Independent):
        base = base.base_dist
    shown = {key: getattr(base, key) for key in ("loc", "scale", "df") if key in vars(base)}
    if not shown or set(base.arg_constraints) != set(shown):
        raise ReadingError(
            f"The prior of {name} is a {type(base).__name__}, whose density is not known here.",
            "State it with prior=: a torch.distributions object, one of vaescope.priors, or a "
            "name.",
        )
    if any(not torch.equal(value[:1].expand_as(value), value) for value in shown.values()):
        raise ReadingError(
            f"{name} draws the latents of each example from a different prior.",
            "Pass encode= and decode= as functions, and prior= if one prior fits all examples.",
        )
    rows = {key: value[0].flatten() for key, value in shown.items()}
    one: distributions.Distribution = type(base)(**rows)
    return one
