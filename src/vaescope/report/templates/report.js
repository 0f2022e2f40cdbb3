"use strict";
(() => {
  // Light and dark. The button names what it switches to.
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.setAttribute("aria-label", "Switch between light and dark colours");
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("vaescope-theme", root.dataset.theme); } catch (error) { /* as above */ }
    name();
  });
  system.addEventListener("change", name);
  name();
  button.hidden = false;

  // A link to a section opens it; printing opens them all.
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = target && target.querySelector(":scope > details");
    if (details) details.open = true;
  };
  addEventListener("hashchange", open);
  open();
  const sections = () => document.querySelectorAll("main > section > details:not([open])");
  let closed = [];
  addEventListener("beforeprint", () => { closed = [...sections()]; closed.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => { closed.forEach((d) => { d.open = false; }); });

  // Tables are sorted by a click on a heading, and the other way by the next.
  const valued = (cell) => {
    const text = cell.textContent.trim().replaceAll(",", "").replace("\u2212", "-").replace(/^[<>]/, "");
    return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text === "\u2013" ? Infinity : text;
  };
  const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.querySelectorAll("thead th")];
    heads.forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [valued(row.cells[place]), row]);
        rows.sort((a, b) => sign * compare(a[0], b[0]));
        table.tBodies[0].replaceChildren(...rows.map(([, row]) => row));
      });
    });
  }

  // The navigation marks the section that is being read.
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watch.observe(section));

  // Figures. Colours are those of the style sheet, so no figure is drawn anew for dark or print.
  const figures = [...document.querySelectorAll("figure.chart")];
  if (!figures.length) return;
  const font = getComputedStyle(document.body).fontFamily;
  const config = {
    background: null, font, view: { stroke: null }, concat: { spacing: 28 },
    axis: {
      labelColor: "var(--ink-2)", titleColor: "var(--ink-2)", labelFontSize: 11, labelFontWeight: "normal",
      gridColor: "var(--line)", domainColor: "var(--line)", tickColor: "var(--line)", tickSize: 4,
    },
    axisY: { domain: false, ticks: false, minExtent: 34, labelPadding: 6 },
    header: { labelColor: "var(--ink)", labelFontSize: 12, labelFontWeight: 500 },
    title: { color: "var(--ink)", fontSize: 12, fontWeight: 500, anchor: "start", frame: "group", offset: 10 },
    legend: {
      orient: "bottom", direction: "horizontal", labelColor: "var(--ink-2)", labelFontSize: 12,
      symbolOpacity: 1, symbolStrokeWidth: 0, offset: 10, columnPadding: 18,
    },
  };
  // The rows are those of the download: there is one copy of them. Vega's own reader of CSV would
  // make code from the header, which the page's content policy forbids.
  const rowsOf = (figure, kinds) => {
    const href = figure.querySelector("a.rows").getAttribute("href");
    const text = decodeURIComponent(href.slice(href.indexOf(",") + 1));
    const lines = [[]];
    for (const [, cell, end] of text.matchAll(/("(?:[^"]|"")*"|[^,\n]*)(,|\n)/g)) {
      lines.at(-1).push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
      if (end === "\n") lines.push([]);
    }
    const value = (kind, cell) => (kind !== "number" ? cell : cell === "" ? null : Number(cell));
    const [names, ...rows] = lines.slice(0, -1);
    return rows.map((row) => Object.fromEntries(names.map((n, i) => [n, value(kinds[n], row[i])])));
  };
  // As many panels side by side as there is room for.
  const fit = (spec, room) => {
    const { cell, most, axis = 46, gap = 20 } = spec.usermeta;
    const columns = Math.max(1, Math.min(most, Math.floor((room + gap) / (cell + gap))));
    const each = Math.floor((room - gap * (columns - 1)) / columns) - axis;
    const grid = { columns, bounds: "flush", spacing: { column: gap + axis, row: spec.facet ? 44 : 68 } };
    if (spec.facet) return { ...spec, ...grid, spec: { ...spec.spec, width: each } };
    if (spec.concat) return { ...spec, ...grid, concat: spec.concat.map((part) => ({ ...part, width: each })) };
    return { ...spec, width: Math.min(each, cell) };
  };
  const drawings = new Map();
  const draw = async (figure, room) => {
    const { spec, kinds } = JSON.parse(figure.querySelector("script.spec").textContent);
    const drawing = figure.querySelector(".drawing");
    drawings.get(figure)?.finalize();
    drawings.set(figure, await vegaEmbed(drawing, { ...fit(spec, room), data: { values: rowsOf(figure, kinds) } }, {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, config,
      tooltip: { disableDefaultStyle: true },
    }));
    // The label of the drawing says what it shows; its marks one by one would only be noise.
    drawing.querySelector("svg").setAttribute("aria-hidden", "true");
  };
  // Sections are as wide as each other, so figures in closed ones can be drawn too.
  const width = () => Math.floor(document.getElementById("verdicts").clientWidth);
  let drawn = 0;
  const drawAll = async () => {
    const room = drawn = width();
    for (const figure of figures) {
      if (room !== drawn) return;
      await draw(figure, room);
    }
    root.dataset.drawn = room;
  };
  let later;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => { if (width() !== drawn) drawAll(); }, 150);
  });
  drawAll();
})();
