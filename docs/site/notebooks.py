"""Notebooks: run them with their outputs kept, and write them as pages. No kernel is needed."""

import argparse
import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

_WIDEST = 6_000  # characters of a text output that are kept


def cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    return list(json.loads(path.read_text("utf-8"))["cells"])


def run(path: Path) -> list[list[dict[str, Any]]]:
    """Runs a notebook in an empty folder; the outputs of each cell."""
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs, own = [], cells(path)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate(own):
            source = "".join(cell["source"])
            code = cell["cell_type"] == "code"
            outputs.append(_run_cell(source, names, f"{path.name}, cell {number}") if code else [])
    return outputs


def _run_cell(source: str, names: dict[str, Any], where: str) -> list[dict[str, Any]]:
    from matplotlib import pyplot

    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue()[:_WIDEST]
        found.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(True)})
    if value is not None and not hasattr(value, "axes") and not _is_artist(value):
        text = str(value) if isinstance(value, str) else repr(value)
        data = {"text/plain": text[:_WIDEST].splitlines(True)}
        found.append(
            {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
        )
    for figure in map(pyplot.figure, pyplot.get_fignums()):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=80, bbox_inches="tight", metadata={"Software": ""})
        png = base64.b64encode(buffer.getvalue()).decode()
        data = {"image/png": png}
        found.append({"output_type": "display_data", "metadata": {}, "data": data})
    pyplot.close("all")
    return found


def _is_artist(value: Any) -> bool:
    from matplotlib.artist import Artist

    many = value if isinstance(value, list | tuple) else [value]
    return bool(many) and all(isinstance(own, Artist) for own in many)


def keep(path: Path) -> None:
    """Runs a notebook and writes its outputs into it."""
    content = json.loads(path.read_text("utf-8"))
    for cell, outputs in zip(content["cells"], run(path), strict=True):
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = outputs, None
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def write_pages(folder: Path, out: Path) -> None:
    """Each notebook as a page with its outputs."""
    out.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*.ipynb")):
        text = [
            part
            for number, cell in enumerate(cells(path))
            for part in _page(cell, number, path.stem, out)
        ]
        said = f"This page is a notebook: `docs/tutorials/{path.name}`. The tests run it."
        note = f":::{{note}}\n{said}\n:::\n"
        (out / f"{path.stem}.md").write_text("\n".join([text[0], note, *text[1:]]), "utf-8")


def _page(cell: dict[str, Any], number: int, stem: str, out: Path) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source.replace(".ipynb)", ".md)") + "\n"]
    text = [f"```python\n{source}\n```\n"]
    for place, output in enumerate(cell["outputs"]):
        data = output.get("data", {"text/plain": output.get("text", [])})
        if "image/png" in data:
            name = f"{stem}-{number}-{place}.png"
            (out / name).write_bytes(base64.b64decode("".join(data["image/png"])))
            text.append(f"![Output of the cell above]({name})\n")
        else:
            said = "".join(data["text/plain"]).rstrip()
            text.append(f":::{{container}} output\n```text\n{said}\n```\n:::\n")
    return text


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", type=Path, nargs="+")
    for notebook in parser.parse_args().notebooks:
        keep(notebook)
