"use strict";
(() => {
  const root = document.documentElement;
  const main = () => document.getElementById("content");
  const svg = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const short = (value) => String(Number(value.toPrecision(3))).replace("-", "\u2212");

  // A frame with two axes: places of values, and the drawing to put marks into.
  const frame = (xs, ys, label, names) => {
    const [W, H, left, bottom, top] = [460, 260, 64, 40, 24];
    const range = (values) => {
      let low = Infinity, high = -Infinity;
      for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
      if (!(high > low)) { low -= 0.5; high += 0.5; }
      return [low, high];
    };
    const [x0, x1] = range(xs), [y0, y1] = range(ys);
    const px = (x) => left + ((x - x0) / (x1 - x0)) * (W - left - 16);
    const py = (y) => H - bottom - ((y - y0) / (y1 - y0)) * (H - bottom - top);
    const drawing = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": label });
    drawing.append(
      svg("path", { class: "axis", d: `M${left} ${top}V${H - bottom}H${W - 16}` }),
      svg("text", { x: left, y: H - bottom + 16 }, short(x0)),
      svg("text", { x: W - 16, y: H - bottom + 16, "text-anchor": "end" }, short(x1)),
      svg("text", { x: left - 6, y: H - bottom, "text-anchor": "end" }, short(y0)),
      svg("text", { x: left - 6, y: top + 4, "text-anchor": "end" }, short(y1)),
      svg("text", { x: (left + W) / 2, y: H - 6, "text-anchor": "middle" }, names[0]),
      svg("text", { x: 4, y: 12 }, names[1]),
    );
    return { drawing, px, py };
  };

  // Any two columns: each point is a link that puts its run into the basket, or takes it out.
  const scatter = () => {
    const place = document.querySelector(".plot[data-kind=scatter]");
    if (!place) return;
    const { x, y, points, chosen } = JSON.parse(document.querySelector("script.points").textContent);
    if (!points.length) { place.textContent = "No run has both numbers."; return; }
    const { drawing, px, py } = frame(points.map((p) => p.x), points.map((p) => p.y), `${y} against ${x}`, [x, y]);
    const front = points.filter((p) => p.front).sort((a, b) => a.x - b.x);
    if (front.length > 1) drawing.append(svg("path", { class: "front", d: `M${front.map((p) => `${px(p.x)} ${py(p.y)}`).join("L")}` }));
    for (const point of points) {
      const address = new URL(location.href), taken = address.searchParams.getAll("sel");
      address.searchParams.delete("sel");
      const kept = taken.includes(point.run) ? taken.filter((run) => run !== point.run) : [...taken, point.run];
      for (const run of kept) address.searchParams.append("sel", run);
      const is = chosen.includes(point.run);
      const says = `${point.run}: ${x} ${short(point.x)}, ${y} ${short(point.y)}${is ? ", in the basket" : ""}`;
      const dot = svg("a", { href: address.pathname + address.search, "aria-label": says, "data-keep": `dot-${point.run}` },
        svg("circle", { class: `dot${is ? " chosen" : ""}`, cx: px(point.x), cy: py(point.y), r: 5 }, svg("title", {}, says)));
      drawing.append(dot);
    }
    place.replaceChildren(drawing);
  };

  // Links and forms of the runs page change it in place; the address is always that of what is shown.
  let turn = 0;
  const show = async (address, push) => {
    const mine = turn += 1;
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    const next = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("content");
    if (mine !== turn || !next) return;
    const active = document.activeElement;
    const typing = active && active.id === "q" ? { value: active.value, at: active.selectionStart } : null;
    const keep = active?.closest?.("[data-keep]")?.getAttribute("data-keep");
    const opened = [...main().querySelectorAll("details[open]")].map((d) => d.className);
    if (push) history.pushState(null, "", address);
    main().replaceWith(next);
    for (const name of opened) { const d = name && next.querySelector(`details.${name.split(" ")[0]}`); if (d) d.open = true; }
    scatter();
    if (keep) [...next.querySelectorAll("[data-keep]")].find((e) => e.getAttribute("data-keep") === keep)?.focus();
    if (typing && !push) { const box = document.getElementById("q"); box.value = typing.value; box.focus(); box.setSelectionRange(typing.at, typing.at); }
    root.dataset.shown = String(turn);
  };
  if (location.pathname === "/") {
    document.addEventListener("click", (event) => {
      const link = event.target.closest("main a[href]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      const address = new URL(link.getAttribute("href"), location.href);
      if (address.pathname !== "/" || link.hasAttribute("download")) return;
      event.preventDefault();
      show(address.pathname + address.search, true);
    });
    document.addEventListener("submit", (event) => {
      if (!event.target.closest("main") || event.target.method !== "get") return;
      event.preventDefault();
      const pairs = [...new FormData(event.target)].filter(([, value]) => value !== "");
      show(`/?${new URLSearchParams(pairs)}`, true);
    });
    document.addEventListener("keydown", (event) => { // a link that acts as a button takes the space bar too
      if (event.key === " " && event.target.matches?.("a[role=button]")) { event.preventDefault(); event.target.click(); }
    });
    addEventListener("popstate", () => show(location.pathname + location.search, false));
  }
  scatter();

  // What changed on the disk, while the page can be seen; less often the longer nothing does.
  let pause = 1500;
  const watch = async () => {
    const before = main().dataset.version;
    if (!document.hidden && before) {
      try {
        const { tag } = await (await fetch("/api/version")).json();
        pause = tag === before ? Math.min(pause * 1.1, 4000) : 1500;
        if (tag !== before && location.pathname === "/") await show(location.pathname + location.search, false);
        else if (tag !== before) location.reload();
      } catch (error) { pause = 10000; } // the server was stopped
    }
    setTimeout(watch, pause);
  };
  setTimeout(watch, pause);

  // A page that a worker makes: asked for as long as this page is open and seen.
  for (const box of document.querySelectorAll(".job")) {
    const says = box.querySelector("[role=status]"), stop = box.querySelector("button");
    let over = false;
    const ask = async () => {
      if (over) return;
      let wait = 700;
      try {
        const answer = await fetch(box.dataset.job);
        const job = await answer.json();
        if (over) return;
        if (job.state === "done") {
          const inside = document.createElement("iframe");
          inside.title = box.dataset.title;
          inside.src = box.dataset.show;
          box.replaceChildren(inside);
          root.dataset.made = "1";
          return;
        }
        says.textContent = job.state === "failed" ? job.says : `${job.state}: ${job.says}`;
        stop.hidden = job.state === "failed";
        if (job.state === "failed") { says.className = "problem"; return; }
      } catch (error) { wait = 5000; }
      setTimeout(ask, wait);
    };
    stop.addEventListener("click", async () => {
      over = true;
      stop.hidden = true;
      says.textContent = "Cancelled.";
      await fetch("/api/cancel", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ job: box.dataset.job }) });
    });
    ask();
  }

  // A run as it trains.
  const live = document.getElementById("live");
  if (live) {
    const rows = [];
    let offset = 0, rest = 1000;
    // At most a thousand points of a line: more cannot be seen, and each poll draws anew.
    const few = () => {
      const each = Math.ceil(rows.length / 1000);
      return each > 1 ? rows.filter((row, i) => i % each === 0 || i === rows.length - 1) : rows;
    };
    const lines = (shown, label, names, series, marks = []) => {
      const steps = shown.map((row) => row.step);
      const { drawing, px, py } = frame(steps, series.flat().filter(Number.isFinite), label, names);
      drawing.setAttribute("role", "img");
      for (const step of marks) drawing.append(svg("path", { class: "death", d: `M${px(step)} 24V220` }));
      for (const values of series) {
        const known = values.map((v, i) => [px(steps[i]), py(v)]).filter(([, y]) => Number.isFinite(y));
        if (known.length) drawing.append(svg("path", { class: "line", d: `M${known.map((p) => p.join(" ")).join("L")}` }));
      }
      return drawing;
    };
    const draw = () => {
      if (!rows.length) { live.textContent = "No record yet."; return; }
      const parts = Object.keys(rows.at(-1)).filter((name) => typeof rows.at(-1)[name] === "number" && !["step", "active", "mixed", "passive"].includes(name));
      const deaths = rows.filter((row, i) => i && row.passive > rows[i - 1].passive).map((row) => row.step);
      const shown = few();
      const charts = parts.map((name) => lines(shown, `${name} by step`, ["step", name], [shown.map((row) => row[name])]));
      const latents = rows.at(-1).variance?.length || 0;
      if (latents) {
        const each = Array.from({ length: latents }, (_, j) => shown.map((row) => row.variance?.[j] ?? NaN));
        charts.unshift(lines(shown, `Posterior variance of each of ${latents} latents by step`, ["step", "variance of each latent"], each, deaths));
      }
      if (charts.length) live.replaceChildren(...charts);
      else live.textContent = `${rows.length} records, none of which has a finite number.`;
      document.getElementById("died").textContent = deaths.length ? `Dashed: latents became passive at ${deaths.length > 8 ? `${deaths.length} steps, the last ` : "step "}${deaths.slice(-8).join(", ")}.` : "";
    };
    const poll = async () => {
      try {
        const answer = await fetch(`/api/live?${new URLSearchParams({ path: live.dataset.path, offset })}`);
        const news = await answer.json();
        if (news.state === "gone") {
          document.getElementById("state").textContent = "gone";
          const place = document.getElementById("progress");
          place.textContent = `${news.says} `;
          if (news.moved) {
            const link = document.createElement("a");
            link.href = `/run?${new URLSearchParams({ path: news.moved })}`;
            link.textContent = `It is now ${news.moved}.`;
            place.append(link);
          }
          return;
        }
        if (news.restarted) rows.length = 0;
        for (const row of news.rows) rows.push(row);
        offset = news.offset;
        if (news.rows.length || news.restarted || !live.firstChild) draw();
        root.dataset.records = String(rows.length);
        document.getElementById("progress").textContent = news.says;
        const state = document.getElementById("state");
        if (state.textContent !== news.state) {
          const ended = state.textContent === "running" || news.state === "done";
          state.textContent = news.state;
          state.className = `state ${news.state}`;
          if (ended) { location.reload(); return; }
        }
        if (news.state === "done" && !news.more) return;
        rest = news.more ? 0 : news.rows.length ? 1000 : Math.min(rest * 1.2, 5000);
      } catch (error) { rest = 10000; }
      setTimeout(poll, rest);
    };
    poll();
  }

  // Stars and notes.
  const note = document.querySelector("form.note");
  if (note) {
    const star = note.querySelector(".star-it"), text = note.querySelector("#note"), kept = note.querySelector(".kept");
    const keep = async () => {
      const body = JSON.stringify({ path: note.dataset.path, star: star.getAttribute("aria-pressed") === "true", text: text.value });
      const answer = await fetch("/api/note", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      kept.textContent = answer.ok ? "Kept." : (await answer.json()).error;
    };
    star.addEventListener("click", () => { star.setAttribute("aria-pressed", String(star.getAttribute("aria-pressed") !== "true")); keep(); });
    text.addEventListener("change", keep);
    note.addEventListener("submit", (event) => { event.preventDefault(); keep(); });
  }
  root.dataset.ready = "1";
})();
