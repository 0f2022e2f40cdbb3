"""The Python of the README and of the pages in depth runs too. Their own names (`my_module`,
`images`, `run`) are made by the block at the top of docs/topics.md, as a reader would make them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.docs.snippets import DOCS, ROOT, blocks, small

import vaescope as vs

#: Each block stands by itself, after the first.
LIBRARIES = DOCS / "other-models.md"
#: What stands for a library, in the blocks that import it.
EXTRAS = ("scvi", "pyro", "lightning", "keras", "diffusers")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the pages in depth mean by their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("runs"))
        names: dict[str, Any] = {"__name__": "__main__"}
        (block,) = blocks(DOCS / "topics.md", "python")
        exec(compile(small(block, "topics.md"), "topics.md", "exec"), names)
        names["run"], names["other"] = (
            vs.open_run(names[n].path.resolve()) for n in ("run", "other")
        )
    return names


def of_data() -> None:
    """The folder and the table that the guide makes."""
    (block,) = [b for b in blocks(DOCS / "guides" / "compare.md", "python") if "# photos/" in b]
    exec(compile(block, "guides/compare.md", "exec"), {})


def of_export() -> None:
    pytest.importorskip("onnxruntime")


def of_train() -> None:
    pytest.importorskip("lightning")


def nothing() -> None:
    """The names of docs/topics.md are enough."""


#: Page -> what has to lie in the folder, or be installed.
PAGES: dict[str, Callable[[], None]] = {
    "index.md": nothing,
    "compare.md": nothing,
    "data.md": of_data,
    "effective-beta.md": nothing,
    "estimator.md": nothing,
    "exchange.md": nothing,
    "export.md": of_export,
    "geometry.md": nothing,
    "how-many.md": nothing,
    "inspect.md": nothing,
    "log-likelihood.md": nothing,
    "own-parts.md": nothing,
    "prune.md": nothing,
    "sweeps.md": nothing,
    "train.md": of_train,
    "tune-beta.md": nothing,
    "watch.md": nothing,
    "../README.md": nothing,
}


@pytest.fixture
def _in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VAESCOPE_DATA", str(tmp_path / "cache"))


def _run(page: str, number: int, block: str, names: dict[str, Any]) -> None:
    where = f"{page}, block {number}"
    exec(compile(small(block, where), where, "exec"), names)


@pytest.mark.slow
@pytest.mark.usefixtures("_in_its_folder")
@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_in_depth_runs(page: str, given: dict[str, Any]) -> None:
    PAGES[page]()
    names = dict(given)
    for number, block in enumerate(blocks(DOCS / page, "python")):
        _run(page, number, block, names)


def _of_extra(block: str) -> str:
    return next(
        (name for name in EXTRAS if f"import {name}" in block or f"from {name}" in block), ""
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_in_its_folder")
def test_calls_for_data_of_other_fields_run() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, block in enumerate(blocks(LIBRARIES, "python")):
        if not _of_extra(block):
            _run(LIBRARIES.name, number, block, names)
    assert {"waveforms", "sensors", "video", "token_ids", "graphs"} <= set(names)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # these libraries have many of their own
@pytest.mark.usefixtures("_in_its_folder")
@pytest.mark.parametrize("extra", EXTRAS)
def test_calls_for_models_of_other_libraries_run(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`scvi` where the extra is installed: tests/adapters/test_scvi_extra.py installs it."""
    monkeypatch.setenv("KERAS_BACKEND", "torch")  # as the page does, before Keras is looked for
    pytest.importorskip(extra)
    (place,) = [n for n, b in enumerate(blocks(LIBRARIES, "python")) if _of_extra(b) == extra]
    _run(LIBRARIES.name, place, blocks(LIBRARIES, "python")[place], {"__name__": "__main__"})


def test_all_pages_with_python_are_run() -> None:
    """Guides, explanations and the first page by test_snippets; tutorials by test_notebooks."""
    from tests.docs.snippets import PAGES as FROM_TOP_TO_BOTTOM

    every = {path.resolve() for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
             if blocks(path, "python")}  # fmt: skip
    run = {*FROM_TOP_TO_BOTTOM, *(DOCS / page for page in (*PAGES, "topics.md", "other-models.md"))}
    assert every <= {path.resolve() for path in run}
    assert all(_of_extra(block) in ("", *EXTRAS) for block in blocks(LIBRARIES, "python"))
