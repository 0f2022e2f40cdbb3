"""Is a model told from its own latents mapped? Writes docs/results/exchange.md.

The model and the draws are those of tests/test_latent_exchange.py: latents scaled, permuted and
mirrored, rotated by at least 15 degrees from every axis, and affinely mixed, each with a shift and
with the decoder compensated. Right is the sentence of the class that was drawn.

    python scripts/exchange_draws.py
"""

import argparse
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))  # model and draws are the test's

from tests.test_latent_exchange import DRAWS, KINDS, base_model, mixed

import vaescope as vs
from vaescope.latent_exchange import CLASSES


def row(kind: str) -> tuple[list[str], bool]:
    """A line of the table, and whether every draw was told right."""
    base, right, shares, others = base_model(), 0, [], []
    for draw in range(DRAWS):
        rng = np.random.default_rng(draw)
        found = vs.exchange(base, mixed(base, KINDS[kind](rng), rng.normal()), seed=draw)
        right += found.says.startswith(CLASSES[kind] + " (")
        shares.append(found.recovered[kind])
        smaller = [found.recovered[name] for name in CLASSES][: list(CLASSES).index(kind)]
        others.append(max(smaller, default=np.nan))
    most = "-" if kind == "identity" else f"{max(others):.1%}"
    cells = [kind, CLASSES[kind], f"{right} of {DRAWS}", f"{min(shares):.1%}", most]
    return cells, right == DRAWS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/exchange.md"))
    arguments = parser.parse_args()
    began = time.process_time()
    rows = [row(kind) for kind in KINDS]
    seconds = time.process_time() - began
    lines = [
        "# Exchange: a model and its own latents mapped",
        "",
        "Made by `python scripts/exchange_draws.py`, which says what is drawn; torch "
        f"{version('torch')}, vaescope {vs.__version__}, {seconds:.0f} s of processor time.",
        "",
        f"- Every draw told right: {sum(right for _, right in rows)} of {len(rows)} kinds of maps.",
        "",
        "| drawn | right sentence | told so | least share that its class recovers "
        "| greatest share of a smaller class |",
        "|---|---|---|---|---|",
        *[f"| {' | '.join(cells)} |" for cells, _ in rows],
    ]
    arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
