"use strict";
(() => {
  const bench = document.getElementById("bench");
  if (!bench) return;
  const root = document.documentElement, path = bench.dataset.path;
  const inputs = [...bench.querySelectorAll("input[type=range]")];
  const screen = document.getElementById("decoded"), status = document.getElementById("bench-status");
  const shown = (value) => !Number.isFinite(value) ? "\u2013" : value.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "\u2212");
  const png = (text) => `data:image/png;base64,${text}`;

  // One request at a time; the newest code is decoded next, those between are left out.
  let busy = false, again = false, count = 0;
  const show = async () => {
    for (const input of inputs) {
      const text = shown(input.valueAsNumber);
      input.nextElementSibling.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
    if (busy) { again = true; return; }
    busy = true;
    const z = new Array(inputs.length);
    for (const input of inputs) z[input.dataset.latent] = input.valueAsNumber;
    try {
      const answer = await fetch("/api/bench/decode", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ path, z }) });
      const found = await answer.json();
      status.textContent = found.error || "";
      if (found.png) { screen.src = png(found.png); root.dataset.decoded = String(count += 1); }
    } catch (error) { status.textContent = "The server does not answer."; }
    busy = false;
    if (again) { again = false; show(); }
  };
  const place = (code) => {
    for (const input of inputs) {
      const value = code[input.dataset.latent];
      if (value < Number(input.min)) input.min = value;
      if (value > Number(input.max)) input.max = value;
      input.value = value;
    }
    show();
  };
  inputs.forEach((input) => input.addEventListener("input", show));
  document.getElementById("reset").addEventListener("click", () => { inputs.forEach((i) => { i.value = i.defaultValue; }); show(); });
  show();

  const drop = document.getElementById("drop");
  if (!drop) return;
  const list = document.getElementById("dropped"), codes = [];
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const picture = (text, says) => element("figure", {}, element("img", { src: png(text), alt: says }), element("figcaption", {}, says));
  const bars = ({ mean, std, centre, scale }) => {
    const units = mean.map((m, j) => (m - centre[j]) / scale[j]), widest = Math.max(...units.map(Math.abs), 1e-9);
    const rows = units.flatMap((u, j) => {
      const bar = element("i");
      bar.style.setProperty("--share", String(Math.abs(u) / widest));
      return [element("span", {}, String(j)), bar, element("span", {}, `${shown(mean[j])} \u00b1 ${shown(std[j])}`)];
    });
    return element("div", { class: "bars", role: "group", "aria-label": "Posterior: mean and standard deviation of each latent" }, ...rows);
  };
  const send = async (file) => {
    status.textContent = `Reading ${file.name}.`;
    const answer = await fetch(`/api/bench/encode?${new URLSearchParams({ path })}`, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file });
    let found;
    try { found = await answer.json(); } catch (error) { found = { error: "The image was refused: it is too large." }; }
    status.textContent = found.error || "";
    if (found.error) { root.dataset.refused = "1"; return; }
    codes.push(found.mean);
    const set = element("button", { type: "button" }, "Set the sliders to this image");
    set.addEventListener("click", () => place(found.mean));
    list.append(element("section", { "aria-label": file.name },
      element("p", { class: "status" }, `${file.name}: ${found.fitted}. `, set),
      element("div", { class: "bench-images" }, picture(found.input, "as the model sees it"), picture(found.reconstruction, "reconstruction"),
        ...found.nearest.map((n) => picture(n.png, `row ${n.row}, distance ${n.distance.toFixed(2)}`))),
      bars(found)));
    place(found.mean);
    document.getElementById("between").hidden = codes.length < 2;
    root.dataset.encoded = String(codes.length);
  };
  const take = async (files) => { for (const file of files) await send(file); };
  document.getElementById("file").addEventListener("change", (event) => take([...event.target.files]));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); take([...event.dataTransfer.files]); });
  document.getElementById("blend").addEventListener("input", (event) => {
    const t = event.target.valueAsNumber, [a, b] = codes.slice(-2);
    place(a.map((value, j) => (1 - t) * value + t * b[j]));
  });
})();
