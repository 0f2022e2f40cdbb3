"""Builds the site: stages pages, writes the API pages from docstrings, runs Sphinx, checks links.

`make docs` runs it. Nothing is fetched; a warning is an error.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

import api  # noqa: E402
import commands  # noqa: E402
import gallery  # noqa: E402
import links  # noqa: E402
import notebooks  # noqa: E402

#: Files of the repository that are pages too.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def stage(source: Path) -> None:
    """Pages as Sphinx takes them, in a folder of their own."""
    shutil.rmtree(source, ignore_errors=True)
    hidden = shutil.ignore_patterns("site", "__pycache__", "*.ipynb")
    shutil.copytree(ROOT / "docs", source, ignore=hidden)
    for name in PROJECT:
        text = (ROOT / name).read_text("utf-8").replace("](docs/", "](../")
        (source / "project").mkdir(exist_ok=True)
        (source / "project" / name.lower()).write_text(text, "utf-8")
    for page in source.rglob("*.md"):
        text = page.read_text("utf-8")
        rewritten = _LINK.sub(partial(_link, page=page, source=source), text)
        page.write_text(rewritten, "utf-8")
    index = source / "results" / "index.md"
    tree = "\n```{toctree}\n:hidden:\n:glob:\n\nstudies/*\n```\n"
    index.write_text(index.read_text("utf-8") + tree, "utf-8")
    notebooks.write_pages(ROOT / "docs" / "tutorials", source / "tutorials")
    gallery.write_pages(ROOT / "examples", source / "gallery")
    api.write_pages(source / "api")
    commands.write_page(source / "commands.md")
    shutil.copy(Path(__file__).parent / "conf.py", source)
    shutil.copytree(Path(__file__).parent / "static", source / "static")


def _link(found: re.Match[str], page: Path, source: Path) -> str:
    """A link as it is; to a folder, its index; to a file that is no page, text."""
    words, target = found[1], found[2]
    if re.match(r"[a-z]+:|#", target):
        return found[0]
    file = (page.parent / target.split("#")[0]).resolve()
    if file.is_dir() and (file / "index.md").exists():
        return f"[{words}]({target.rstrip('/')}/index.md)"
    if file.name.upper().removesuffix(".MD") + ".md" in PROJECT and not file.exists():
        return f"[{words}](/project/{file.name.lower()})"
    if file.suffix == ".py" and (ROOT / "examples" / file.name).exists():
        return f"[{words}](/gallery/{file.stem}.md)"
    if file.suffix == ".ipynb":
        return f"[{words}]({target.replace('.ipynb', '.md')})"
    if not file.is_relative_to(source.resolve()):
        return f"`{words.strip('`')}`"
    return found[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    parser.add_argument("--demo", type=Path, help="a report to embed; without it one is made")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    source, pages = out / "source", out / "html"
    stage(source)
    report = arguments.demo or _demo(out)
    shutil.copy(report, source / "static" / "demo.html")
    shutil.rmtree(pages, ignore_errors=True)
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html"]
    subprocess.run([sys.executable, *command, source, pages], check=True)
    faults = links.faults(pages)
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(f"{len(faults)} links are broken or leave the site.")
    print(f"Open {pages / 'index.html'}")


def _demo(out: Path) -> Path:
    """A fast report of the demo's model, made once."""
    report = out / "demo" / "report.html"
    if not report.exists():
        command = [sys.executable, "-m", "vaescope"]
        train = [*command, "train", "demo", "--out", report.parent, "--quiet", "--json"]
        done = subprocess.run(train, check=True, capture_output=True)
        run = json.loads(done.stdout)["runs"][0]["path"]
        inspect = [*command, "inspect", run, "--fast", "--out", report, "--quiet"]
        subprocess.run(inspect, check=True)
    return report


if __name__ == "__main__":
    main()
