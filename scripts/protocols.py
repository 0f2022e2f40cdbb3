"""How far do protocols move the scores of one model? Writes docs/results/protocols.md from codes of
a published model, by `vaescope measure` at 1,000 rows to train and 1,000 to test.

    python scripts/protocols.py ../shared/data/pretrained/codes/btcvae_dsprites_codes.npz
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROTOCOLS = ("default", "dlib")
ROWS = ["--train", "1000", "--test", "1000"]


def measured(codes: Path, protocol: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "vaescope", "measure", codes, "--on", "mean", *ROWS]
    done = subprocess.run(
        [*command, "--protocol", protocol, "--json", "--quiet"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def cell(score: dict[str, Any] | None, name: str) -> str:
    value = None if score is None else score[name]
    return "" if value is None else f"{value:.3f}"


def page(codes: Path, documents: dict[str, dict[str, Any]]) -> list[str]:
    default = documents["default"]
    scores = {protocol: own["metrics"]["mean"] for protocol, own in documents.items()}
    versions = next(iter(scores["default"].values()))["protocol"]["versions"]
    passive = default["latents"]["types"].count("passive")
    head = ["metric", *(f"`{name}`" for name in PROTOCOLS), "chance (`default`)"]
    lines = [
        "# Scores of one model by protocol",
        "",
        f"Made by `python scripts/protocols.py {codes.name}`: `vaescope measure` on the posterior "
        f"means of {default['n']:,} rows, {default['d']} latents of which {passive} are passive; "
        "1,000 rows to train, 1,000 to test, all rows for the metrics that do not learn. "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".",
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
    ]
    for name in scores["default"]:
        values = [cell(scores[protocol].get(name), "value") for protocol in PROTOCOLS]
        row = [f"`{name}`", *values, cell(scores["default"][name], "chance")]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("codes", type=Path, help="An npz file with mean, variance, factors.")
    parser.add_argument("--out", type=Path, default=Path("docs/results/protocols.md"))
    arguments = parser.parse_args()
    documents = {name: measured(arguments.codes, name) for name in PROTOCOLS}
    arguments.out.write_text("\n".join(page(arguments.codes, documents)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
