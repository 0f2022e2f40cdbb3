"""Datasets by name. A name never changes what it means with what is on disk."""

from collections.abc import Callable, Mapping

from vaescope.data import (
    cars3d,
    celeba,
    coil20,
    digits,
    dsprites,
    dsprites_official,
    faces3d,
    mnist,
    mpi3d,
    olivetti,
    shapes3d,
    shapes3d_rendered,
    smallnorb,
    sprites,
    synthetic,
    toys,
    variants,
)
from vaescope.data.card import Card
from vaescope.data.dataset import Dataset

__all__ = ["CARDS", "DATASETS", "Card", "Dataset"]

#: Name -> the function that loads or makes it; its settings are in `specs`.
DATASETS: Mapping[str, Callable[..., Dataset]] = {
    "dsprites": dsprites.dsprites,
    "dsprites-official": dsprites_official.dsprites_official,
    "dsprites-colour": variants.dsprites_colour,
    "dsprites-noisy": variants.dsprites_noisy,
    "dsprites-scream": variants.dsprites_scream,
    "shapes3d": shapes3d.shapes3d,
    "shapes3d-rendered": shapes3d_rendered.shapes3d_rendered,
    "cars3d": cars3d.cars3d,
    "smallnorb": smallnorb.smallnorb,
    "mpi3d-toy": mpi3d.mpi3d_toy,
    "mpi3d-realistic": mpi3d.mpi3d_realistic,
    "mpi3d-real": mpi3d.mpi3d_real,
    "mpi3d-complex": mpi3d.mpi3d_complex,
    "mnist": mnist.mnist,
    "fashion-mnist": mnist.fashion_mnist,
    "celeba": celeba.celeba,
    "faces3d": faces3d.faces3d,
    "sprites": sprites.sprites,
    "coil20": coil20.coil20,
    "olivetti": olivetti.olivetti,
    "digits": digits.digits,
    "pinwheel": toys.pinwheel,
    "synth-linear": synthetic.synth_linear,
    "synth-nonlinear": synthetic.synth_nonlinear,
    "linear-gaussian": synthetic.linear_gaussian,
    "ica-segments": toys.ica_segments,
}

#: Name -> what is known of it without opening it.
CARDS: Mapping[str, Card] = {
    "dsprites": dsprites.CARD,
    "dsprites-official": dsprites_official.CARD,
    **variants.CARDS,
    "shapes3d": shapes3d.CARD,
    "shapes3d-rendered": shapes3d_rendered.CARD,
    "cars3d": cars3d.CARD,
    "smallnorb": smallnorb.CARD,
    **mpi3d.CARDS,
    **mnist.CARDS,
    "celeba": celeba.CARD,
    "faces3d": faces3d.CARD,
    "sprites": sprites.CARD,
    "coil20": coil20.CARD,
    "olivetti": olivetti.CARD,
    "digits": digits.CARD,
    "pinwheel": toys.CARDS["pinwheel"],
    **synthetic.CARDS,
    "ica-segments": toys.CARDS["ica-segments"],
}
