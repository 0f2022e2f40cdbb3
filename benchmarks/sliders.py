"""From a slider's event to its picture, in Chromium: python benchmarks/sliders.py REPORT.html ...

Opens reports (of `vs.inspect(...).save` or `vaescope inspect`) from the disk, moves each slider in
turn and takes the time from the event until the frame after the picture is drawn, as a reader waits
for it, and the time of the decoder alone. `--out PAGE` writes a page of results.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

EVENTS = 60
CHROMIUM = Path("/usr/bin/chromium")
#: Moves sliders by turns; each move waits for its picture and for the frame that shows it.
MOVES = """async (count) => {
  const figure = document.querySelector("figure.sliders"), found = [];
  const inputs = [...figure.querySelectorAll("input[type=range]")];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let move = 0; move < count; move += 1) {
    const input = inputs[move % inputs.length], low = Number(input.min), high = Number(input.max);
    await frame();
    delete figure.dataset.milliseconds;
    const begun = performance.now();
    input.value = low + (high - low) * ((move * 0.37) % 1);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    while (!figure.dataset.milliseconds) await frame();
    found.push([performance.now() - begun, Number(figure.dataset.milliseconds)]);
  }
  return found;
}"""


@dataclass(frozen=True)
class SliderTimes:
    """Milliseconds of many moves on one page."""

    name: str
    image: str
    megabytes: float
    whole: tuple[float, ...]  # from the event to the frame after it
    decoder: tuple[float, ...]


def measure(paths: list[Path]) -> list[SliderTimes]:
    """Times of each page, one after the other."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as driver:
        program = str(CHROMIUM) if CHROMIUM.exists() else None
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for path in paths:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(path.resolve().as_uri())
            page.locator("figure.sliders").scroll_into_view_if_needed()
            page.wait_for_selector("figure.sliders[data-milliseconds]")
            page.evaluate(MOVES, 10)  # the first ones compile
            times = np.array(page.evaluate(MOVES, EVENTS))
            canvas = page.locator("figure.sliders canvas").first
            image = canvas.evaluate("c => `${c.width} x ${c.height}`")
            size = path.stat().st_size / 1e6
            found.append(SliderTimes(path.stem, image, size, *map(tuple, times.T.tolist())))
            page.close()
        browser.close()
    return found


def page_of(found: list[SliderTimes]) -> str:
    """The page of results."""
    rows = [
        f"| {one.name} | {one.image} | {one.megabytes:.2f} | {np.median(one.whole):.1f} | "
        f"{np.quantile(one.whole, 0.95):.1f} | {np.median(one.decoder):.1f} |"
        for one in found
    ]
    return "\n".join([
        "# Sliders of third-party decoders", "",
        "`python benchmarks/sliders.py REPORT.html ...` on pages of the nine pretrained models "
        f"(10 latents), Chromium without a graphics card, {os.cpu_count()} cores. Milliseconds "
        f"over {EVENTS} moves of sliders, by turns: from the event to the frame after the picture, "
        "and the decoder alone. Asked for: a median within 50 ms at 64 x 64, 5 MB a page.", "",
        "| model | image | page, MB | event to picture, median | 95% within | decoder, median |",
        "|---|---|---|---|---|---|", *rows, "",
    ])  # fmt: skip


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, help="write a page of results")
    options = parser.parse_args()
    text = page_of(measure(options.reports))
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
