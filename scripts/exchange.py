"""Which of other people's models have the same latent space? Prints the table of docs/exchange.md
and draws docs/pictures/exchange.svg: pairs of the nine models of YannDubs/disentangling-vae."""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # the models are rebuilt by the tests

from tests.adapters.pretrained import many_images, rebuilt

import vaescope as vs
from vaescope.latent_exchange import CLASSES

PAIRS = (
    ("VAE_mnist", "betaH_mnist"),
    ("VAE_mnist", "btcvae_mnist"),
    ("VAE_mnist", "betaB_mnist"),
    ("btcvae_dsprites", "btcvae_dsprites_a0"),
    ("VAE_dsprites", "betaH_dsprites"),
)
COLUMNS = ("own", *CLASSES, "mean image")


def measured(folder: Path) -> dict[str, list[float]]:
    """Of each pair, nats of an image by column."""
    rows = {}
    for a, b in PAIRS:
        first, second = (rebuilt(name, lambda path: folder / path) for name in (a, b))
        found = vs.exchange(first, second, many_images(b, lambda path: folder / path))
        costs = [found.own, *(found.costs[name] for name in CLASSES), found.mean_image]
        rows[f"{a} to {b}"] = costs
    return rows


def draw(rows: dict[str, list[float]], path: Path) -> None:
    """What a class of maps costs between B's own reconstruction (0) and the mean image (1)."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "exchange"
    figure, axes = plt.subplots(figsize=(6.5, 3), layout="constrained")
    for k, (name, costs) in enumerate(rows.items()):
        own, mean = costs[0], costs[-1]
        shares = (np.array(costs[1:-1]) - own) / (mean - own)
        places = np.arange(len(CLASSES)) + (k - 2) * 0.16
        axes.bar(places, shares, 0.15, label=name)
    axes.axhline(1.0, color="0.4", lw=1)
    axes.axhline(0.1, color="0.4", lw=1, ls=":")
    axes.set_xticks(np.arange(len(CLASSES)), list(CLASSES))
    axes.set_ylabel("cost: own = 0, mean image = 1")
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="The folder with pretrained/ and mnist/.")
    parser.add_argument("--picture", type=Path, default=Path("docs/pictures/exchange.svg"))
    arguments = parser.parse_args()
    rows = measured(arguments.data)
    lines = [f"| A to B | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{v:.1f}' for v in row)} |" for name, row in rows.items()]
    sys.stdout.write("\n".join(lines) + "\n")
    draw(rows, arguments.picture)


if __name__ == "__main__":
    main()
