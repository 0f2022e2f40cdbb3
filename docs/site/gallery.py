"""The gallery: every example with its picture and its source, as pages."""

import argparse
import ast
import contextlib
import runpy
import shutil
import sys
import tempfile
from pathlib import Path


def title(script: Path) -> str:
    """The first line of an example's docstring."""
    text = ast.get_docstring(ast.parse(script.read_text("utf-8"))) or script.stem
    return text.splitlines()[0].rstrip(".:")


def write_pages(examples: Path, out: Path) -> None:
    """A page for each example, and one with all pictures."""
    out.mkdir(exist_ok=True)
    tiles, names = [], []
    for script in sorted(examples.glob("*.py")):
        picture = examples / "pictures" / f"{script.stem}.png"
        page = [f"# {title(script)}", ""]
        if picture.exists():
            shutil.copy(picture, out)
            page += [f"![{title(script)}]({picture.name})", ""]
            tiles.append(
                f"[![{title(script)}]({picture.name})]({script.stem}.md)\n[{title(script)}]({script.stem}.md)\n"
            )
        else:
            tiles.append(f"[{title(script)}]({script.stem}.md)\n")
        page += [
            f"`python examples/{script.name}`",
            "",
            "```python",
            script.read_text("utf-8").rstrip(),
            "```",
            "",
        ]
        (out / f"{script.stem}.md").write_text("\n".join(page), "utf-8")
        names.append(script.stem)
    tree = ["```{toctree}", ":hidden:", "", *names, "```", ""]
    body = [
        "# Gallery",
        "",
        "One script for each guide. `make gallery` runs them all and draws their pictures.",
        "",
    ]
    body += [
        "::::{container} tiles",
        "",
        *(f":::{{container}}\n{tile}:::\n" for tile in tiles),
        "::::",
        "",
        *tree,
    ]
    (out / "index.md").write_text("\n".join(body), "utf-8")


def draw(examples: Path) -> None:
    """Runs each example that draws, in one process: torch is imported once."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    (examples / "pictures").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for script in sorted(examples.glob("*.py")):
            if "--picture" in script.read_text("utf-8"):
                print(script.name, flush=True)
                picture = examples / "pictures" / f"{script.stem}.png"
                sys.argv = [script.name, "--picture", str(picture)]
                runpy.run_path(str(script), run_name="__main__")
                plt.close("all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    draw(parser.parse_args().examples.resolve())
