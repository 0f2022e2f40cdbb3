"use strict";
(() => {
  const figure = document.querySelector("figure.explorer");
  if (!figure) return;
  const root = document.documentElement;
  const runs = JSON.parse(figure.querySelector("script.runs").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const columns = new Map(Object.entries(runs.columns).map(([name, { kind, words, data }]) => {
    const values = kind === "number" ? new Float32Array(bytes(data)) : new Uint16Array(bytes(data));
    return [name, { kind, words, values }];
  }));
  const reports = new Uint8Array(bytes(runs.reports));
  const LISTED = 100;
  const chosen = { x: runs.x, y: runs.y, colour: runs.colour };

  // What may be drawn on which axis.
  const numeric = [...columns].filter(([, c]) => c.kind === "number").map(([name]) => name);
  const selects = Object.fromEntries([...figure.querySelectorAll("select")].map((s) => [s.dataset.axis, s]));
  for (const [axis, select] of Object.entries(selects)) {
    const names = axis === "colour" ? ["", ...columns.keys()] : numeric;
    for (const name of names) select.add(new Option(name || "none", name, false, name === chosen[axis]));
    select.addEventListener("change", () => { chosen[axis] = select.value; draw(); });
  }
  figure.querySelector(".choices").hidden = false;

  const shown = (name, i) => {
    const { kind, words, values } = columns.get(name);
    if (kind === "text") return words[values[i]];
    return Number.isNaN(values[i]) ? "\u2013" : String(Number(values[i].toPrecision(5)));
  };
  // A canvas knows no names of colours: they are read from the style sheet at each drawing.
  const colour = (name) => {
    const probe = figure.appendChild(document.createElement("span"));
    probe.style.color = `var(${name})`;
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const scale = (name) => {
    let low = Infinity, high = -Infinity;
    for (const value of columns.get(name).values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    // Settings span decades; measures are drawn as they are, lest a curve look straight.
    const wide = low > 0 && high / low > 30 && !runs.measures.includes(name);
    return wide ? { type: "log", nice: false } : { zero: false, nice: true };
  };
  const title = (name) => (runs.units[name] ? `${name} (${runs.units[name]})` : name);
  const settings = [...columns.keys()].filter((name) => !runs.measures.includes(name));

  let sorted = { name: "", sign: 1 }, drawn = [];
  // All columns of the runs that are drawn or chosen.
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const save = figure.querySelector(".save");
  save.hidden = false;
  save.addEventListener("click", () => {
    const names = [...columns.keys()];
    const value = (name, i) => {
      const { kind, words, values } = columns.get(name);
      return kind === "text" ? quoted(words[values[i]]) : Number.isNaN(values[i]) ? "" : String(Number(values[i].toPrecision(7)));
    };
    const rows = drawn.map((i) => [quoted(runs.names[i]), ...names.map((n) => value(n, i))].join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([[["run", ...names].map(quoted).join(","), ...rows, ""].join("\n")], { type: "text/csv" }));
    link.download = "runs.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  // What is under the pointer.
  const tip = figure.querySelector(".tip");
  const point = (event, item) => {
    const i = item?.datum?.i;
    tip.hidden = i === undefined;
    if (tip.hidden) return;
    const names = [...new Set([...settings.slice(0, 6), chosen.x, chosen.y, chosen.colour])].filter((n) => columns.has(n));
    tip.textContent = [runs.names[i], ...names.map((n) => `${title(n)}: ${shown(n, i)}`)].join("\n");
    const box = figure.querySelector(".plot").getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 12, Math.max(0, box.width - 240))}px`;
    tip.style.top = `${event.clientY - box.top + 12}px`;
  };
  const visit = (event, item) => {
    const i = item?.datum?.i;
    if (i !== undefined && reports[i]) location.href = `${runs.prefix}${encodeURIComponent(runs.names[i])}/report.html`;
  };

  // The runs inside the brush, or all of them, by the value that goes up.
  const list = (brush) => {
    const x = columns.get(chosen.x).values, y = columns.get(chosen.y).values;
    const within = (value, range) => !range || (value >= Math.min(...range) && value <= Math.max(...range));
    const inside = [];
    for (let i = 0; i < x.length; i += 1) {
      if (!Number.isNaN(x[i]) && !Number.isNaN(y[i]) && within(x[i], brush?.x) && within(y[i], brush?.y)) inside.push(i);
    }
    const many = brush?.x ? "chosen" : "drawn";
    const first = inside.length > LISTED ? `; the first ${LISTED} by ${sorted.name || chosen.y} are listed` : "";
    figure.querySelector(".status").textContent =
      `${inside.length.toLocaleString("en")} of ${x.length.toLocaleString("en")} runs ${many}${first}.`;
    const names = [...new Set([...settings.slice(0, 6), chosen.x, chosen.y, chosen.colour])].filter((n) => columns.has(n));
    const key = names.includes(sorted.name) ? columns.get(sorted.name).values : y;
    inside.sort((a, b) => sorted.sign * (key[a] - key[b]) || a - b);
    drawn = inside;
    const cell = (tag, content) => {
      const made = document.createElement(tag);
      made.append(content);
      return made;
    };
    const line = (cells) => { const row = document.createElement("tr"); row.append(...cells); return row; };
    const heading = (name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = title(name);
      button.addEventListener("click", () => {
        sorted = { name, sign: sorted.name === name ? -sorted.sign : 1 };
        list(brush);
        figure.querySelector(`th[aria-sort] button`)?.focus();
      });
      const made = cell("th", button);
      made.scope = "col";
      if (sorted.name === name) made.setAttribute("aria-sort", sorted.sign > 0 ? "ascending" : "descending");
      return made;
    };
    figure.querySelector("thead").replaceChildren(line([cell("th", "run"), ...names.map(heading)]));
    figure.querySelector("tbody").replaceChildren(...inside.slice(0, LISTED).map((i) => {
      let run = runs.names[i];
      if (reports[i]) {
        const link = document.createElement("a");
        link.href = `${runs.prefix}${encodeURIComponent(run)}/report.html`;
        link.textContent = run;
        run = link;
      }
      return line([cell("th", run), ...names.map((n) => cell("td", shown(n, i)))]);
    }));
  };

  let view, latest = 0;
  const draw = async () => {
    const turn = latest += 1;
    const x = columns.get(chosen.x).values, y = columns.get(chosen.y).values;
    const c = chosen.colour && columns.get(chosen.colour);
    const values = [];
    for (let i = 0; i < x.length; i += 1) {
      if (Number.isNaN(x[i]) || Number.isNaN(y[i])) continue;
      values.push({ i, x: x[i], y: y[i], c: !c ? 0 : c.kind === "text" ? c.words[c.values[i]] : c.values[i] });
    }
    const few = ["#0072b2", "#d55e00", "#009e73", "#b8649a", "#808080", "#3f8fc0", "#c07f00", "#8a7d00"];
    const kinds = c && c.kind === "number" ? [...new Set(values.map((v) => v.c))].sort((a, b) => a - b) : [];
    const ink = colour("--ink-2"), line = colour("--line");
    const paint = !c ? { value: colour("--accent") } : c.kind === "text"
      ? { field: "c", type: "nominal", title: title(chosen.colour), scale: { range: few } }
      : kinds.length <= few.length && settings.includes(chosen.colour)
      ? { field: "c", type: "nominal", title: chosen.colour, scale: { domain: kinds, range: few.slice(0, kinds.length) }, legend: { symbolType: "circle", symbolSize: 60, format: "~g" } }
      : { field: "c", type: "quantitative", title: chosen.colour, scale: { scheme: "viridis", ...(scale(chosen.colour).type ? { type: "log" } : {}) } };
    const axis = { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", format: "~g", tickCount: 6 };
    const width = figure.querySelector(".plot").clientWidth;
    const embedded = await vegaEmbed(figure.querySelector(".plot"), {
      width, height: 400, autosize: { type: "fit", contains: "padding" },
      data: { values },
      params: [{ name: "brush", select: { type: "interval", mark: { stroke: ink, fill: ink, fillOpacity: 0.08 } } }],
      mark: { type: "circle", size: values.length > 2000 ? 14 : 56, tooltip: null },
      encoding: {
        x: { field: "x", type: "quantitative", title: title(chosen.x), scale: scale(chosen.x) },
        y: { field: "y", type: "quantitative", title: title(chosen.y), scale: scale(chosen.y) },
        color: paint,
        opacity: { condition: { param: "brush", value: values.length > 2000 ? 0.55 : 0.8 }, value: 0.06 },
      },
    }, {
      mode: "vega-lite", renderer: "canvas", actions: false, ast: true, defaultStyle: false, tooltip: false,
      config: {
        background: null, font: getComputedStyle(document.body).fontFamily, view: { stroke: null }, axis,
        legend: { orient: "bottom", direction: "horizontal", labelColor: ink, titleColor: ink, titleFontWeight: "normal" },
      },
    });
    if (turn !== latest) { embedded.finalize(); return; }
    view?.finalize();
    view = embedded;
    view.view.addEventListener("mousemove", point);
    view.view.addEventListener("click", visit);
    figure.querySelector(".plot canvas").addEventListener("mouseleave", () => { tip.hidden = true; });
    let waiting = false;
    view.view.addSignalListener("brush", (name, brush) => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; list(view.view.signal("brush")); });
    });
    list();
    root.dataset.explored = `${chosen.x} ${chosen.y}`;
  };
  document.getElementById("theme").addEventListener("click", () => { draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { draw(); });
  let later, before = figure.clientWidth;
  addEventListener("resize", () => {
    clearTimeout(later);
    later = setTimeout(() => { if (figure.clientWidth !== before) { before = figure.clientWidth; draw(); } }, 150);
  });
  draw();
})();
