"""Latents are named by the decoder only where the change is a motion, a size or a brightness."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.adapters.pretrained import NAMES, PASSIVE, digits, rebuilt

from vaescope.codes import Codes
from vaescope.inspection.decoder_names import decoder_name, decoder_names
from vaescope.latents import groups

SIDE, STEPS = 48, 11
ROWS, COLUMNS = np.mgrid[:SIDE, :SIDE]


def blob(row: float, column: float, radius: float, height: float = 1.0) -> np.ndarray:
    """A disc with a soft edge and a dent, so that it is no symmetric thing."""
    off = np.hypot(ROWS - row, COLUMNS - column)
    disc = 1 / (1 + np.exp((off - radius) / 0.7))
    dent = 1 / (
        1 + np.exp((np.hypot(ROWS - row + radius / 2, COLUMNS - column) - radius / 3) / 0.7)
    )
    return height * np.clip(disc - 0.6 * dent, 0, 1)


def shape(t: float) -> np.ndarray:
    """From a disc to a bar: neither motion nor size."""
    off = np.hypot((ROWS - 24) * (1 + 2 * t), (COLUMNS - 24) / (1 + 2 * t))
    return 1 / (1 + np.exp((off - 9) / 0.7))


CASES: dict[str, tuple[Callable[[float], np.ndarray], str | None]] = {
    "across": (lambda t: blob(24, 14 + 20 * t, 8), "position-like, moves what is drawn across"),
    "down": (lambda t: blob(14 + 20 * t, 24, 8), "position-like, moves what is drawn down"),
    "slope": (lambda t: blob(14 + 20 * t, 34 - 20 * t, 8),
              "position-like, moves what is drawn diagonally"),
    "size": (lambda t: blob(24, 24, 6 + 10 * t), "size-like, resizes what is drawn"),
    "light": (lambda t: blob(24, 24, 9, 0.3 + 0.7 * t), "brightness-like, brightens what is drawn"),
    "dark on light": (lambda t: 1 - blob(24, 14 + 20 * t, 8),
                      "position-like, moves what is drawn across"),
    "shape": (shape, None),
    "still": (lambda t: blob(24, 24, 9), None),
    "hardly moves": (lambda t: blob(24, 23 + 2 * t, 9), None),
    "moves and grows": (lambda t: blob(24, 14 + 20 * t, 5 + 9 * t), None),
    "appears elsewhere": (lambda t: (1 - t) * blob(12, 12, 6) + t * blob(36, 36, 6), None),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_change_is_named_only_if_it_is_one_kind(case: str, channels: int) -> None:
    drawn, wanted = CASES[case]
    images = np.stack([np.stack([drawn(t)] * channels) for t in np.linspace(0, 1, STEPS)])
    found = decoder_name(images)
    assert (None if found is None else f"{found.kind}, {found.how}") == wanted


def test_noise_and_blank_images_have_no_name() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert decoder_name(rng.random((STEPS, 1, 16, 16))) is None
    assert decoder_name(np.zeros((STEPS, 1, 16, 16))) is None
    assert decoder_name(np.full((STEPS, 1, 16, 16), np.nan)) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_names_of_the_nine_pretrained_models_agree_with_the_factors(
    name: str, shared_data: Callable[[str], Path]
) -> None:
    """No digit is claimed to move or grow; a sprite's latents do what they are said to, and those
    that factors name are not passive."""
    decoder = rebuilt(name, shared_data).decoder.eval()
    if name.endswith("mnist"):
        x = digits(256, shared_data)
        with torch.inference_mode():
            mean = rebuilt(name, shared_data).encoder(x)[:, 0::2].numpy()
    else:
        arrays = np.load(shared_data(f"pretrained/codes/{name}_codes.npz"))
        mean = arrays["mu"][:2000].astype(np.float64)
    used = [j for j in range(10) if j not in PASSIVE[name]]
    names = decoder_names(decoder, mean, used, np.zeros(10), np.ones(10))
    found = {j: seen.kind for j, seen in names.items()}
    if name.endswith("mnist"):
        assert found == {}
        return
    variance = np.exp(arrays["logvar"][:2000].astype(np.float64))
    factors = arrays["factors"][:2000].astype(np.int64)
    for group in groups(Codes(mean, variance, mean, factors)).groups:
        assert not set(group.latents) & set(PASSIVE[name])
    own = {"position-like": factors[:, 3:5], "size-like": factors[:, 1:2]}
    for j, kind in found.items():
        known = np.column_stack([own[kind], np.ones(len(mean))])
        fitted = known @ np.linalg.lstsq(known, mean[:, j], rcond=None)[0]
        print(name, j, kind, f"{1 - np.var(mean[:, j] - fitted) / np.var(mean[:, j]):.2f}")
        assert np.var(mean[:, j] - fitted) < 0.5 * np.var(mean[:, j]), (j, kind)
    entangled = name in ("VAE_dsprites", "betaH_dsprites")
    assert found or entangled, "nothing was named"
