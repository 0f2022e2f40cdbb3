// Points of two latents at a time, coloured by a factor; pointing at one shows its example, and a
// click decodes, where the page has the decoder.
(() => {
  const figure = document.querySelector("figure.scattered");
  if (!figure) return;
  const data = JSON.parse(figure.querySelector("script.points").textContent);
  const svg = figure.querySelector("svg"), seen = figure.querySelector(".seen"), key = figure.querySelector(".key");
  const selects = Object.fromEntries([...figure.querySelectorAll("select")].map((s) => [s.dataset.axis, s]));
  const NAMESPACE = "http://www.w3.org/2000/svg", WIDTH = 720, HEIGHT = 440, LEFT = 44, BELOW = 36, EDGE = 12;
  const FEW = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#5c5cff", "#868d95", "#a0522d"];
  data.latents.forEach((latent, place) => {
    selects.x.add(new Option(`latent ${latent}`, place));
    selects.y.add(new Option(`latent ${latent}`, place, false, place === 1));
  });
  selects.colour.add(new Option("none", -1));
  data.names.forEach((name, place) => selects.colour.add(new Option(name, place, false, place === 0)));
  if (data.names.length) selects.colour.value = 0;
  figure.querySelector(".by").hidden = !data.names.length;
  figure.querySelector(".choices").hidden = false;

  const made = (tag, attributes, text) => {
    const node = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const shown = (value) => String(Number(value.toPrecision(3))).replace("-", "\u2212");
  const painted = (place) => {
    if (place < 0) { key.textContent = ""; return () => "var(--accent)"; }
    const values = data.values.map((row) => row[place]);
    const classes = [...new Set(values)].sort((a, b) => a - b);
    const chip = (colour, text) => {
      const chip = document.createElement("span"), dot = document.createElement("i");
      dot.style.background = colour;
      chip.append(dot, text);
      return chip;
    };
    if (classes.length <= FEW.length) {
      key.replaceChildren(...classes.map((value, k) => chip(FEW[k], `${data.names[place]} ${shown(value)}`)));
      return (i) => FEW[classes.indexOf(values[i])];
    }
    const low = classes[0], high = classes[classes.length - 1];
    // From blue to orange; both ends stand out on light and dark paper.
    const mixed = (share) => `color-mix(in oklab, #d55e00 ${Math.round(100 * share)}%, #2f7fd0)`;
    key.replaceChildren(...[0, 0.5, 1].map((share) => chip(mixed(share), `${data.names[place]} ${shown(low + share * (high - low))}`)));
    return (i) => mixed((values[i] - low) / (high - low || 1));
  };
  const show = (i) => {
    seen.replaceChildren();
    if (i === null) return;
    if (data.sheet) {
      const tile = document.createElement("div"), size = 4;
      const [column, row] = [i % data.across, Math.floor(i / data.across)];
      Object.assign(tile.style, {
        width: `${data.width * size}px`, height: `${data.height * size}px`,
        backgroundImage: `url(${data.sheet})`, backgroundSize: `${data.across * data.width * size}px auto`,
        backgroundPosition: `-${column * data.width * size}px -${row * data.height * size}px`,
      });
      seen.append(tile);
    }
    seen.append(data.labels[i]);
  };
  // A click on a point decodes its code, one beside points the code that is there on both axes.
  const sliders = document.querySelector("figure.sliders");
  let place = null;
  const decode = (event) => {
    const i = event.target.dataset.i;
    const values = i === undefined ? place(event) : data.latents.map((latent, k) => [latent, data.mean[i][k]]);
    const canvas = document.createElement("canvas"), says = document.createElement("p");
    sliders.decode(values, canvas);
    says.textContent = i === undefined
      ? `Decoded at ${values.map(([latent, value]) => `${latent} = ${shown(value)}`).join(", ")}`
      : `Decoded: ${data.labels[i]}`;
    seen.replaceChildren(canvas, says);
    figure.dataset.decoded = i === undefined ? "place" : i;
  };
  if (sliders?.decode) svg.addEventListener("click", decode);
  const draw = () => {
    const [x, y] = ["x", "y"].map((axis) => Number(selects[axis].value));
    const colour = painted(Number(selects.colour.value));
    const ends = (column) => {
      const values = data.mean.map((row) => row[column]);
      const low = Math.min(...values), high = Math.max(...values), pad = 0.04 * (high - low) || 1;
      return [low - pad, high + pad];
    };
    const [left, right] = ends(x), [low, high] = ends(y);
    const across = (value) => LEFT + (value - left) / (right - left) * (WIDTH - LEFT - EDGE);
    const up = (value) => HEIGHT - BELOW - (value - low) / (high - low) * (HEIGHT - BELOW - EDGE);
    const nodes = [made("path", { d: `M${LEFT} ${EDGE}V${HEIGHT - BELOW}H${WIDTH - EDGE}`, class: "axis" })];
    for (const share of [0.1, 0.5, 0.9]) {
      const h = left + share * (right - left), v = low + share * (high - low);
      nodes.push(made("text", { x: across(h), y: HEIGHT - BELOW + 16, "text-anchor": "middle" }, shown(h)));
      nodes.push(made("text", { x: LEFT - 6, y: up(v) + 4, "text-anchor": "end" }, shown(v)));
    }
    nodes.push(made("text", { x: (WIDTH + LEFT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, `latent ${data.latents[x]}`));
    nodes.push(made("text", { x: LEFT + 6, y: EDGE + 8 }, `latent ${data.latents[y]}`));
    data.mean.forEach((row, i) => {
      const dot = made("circle", { cx: across(row[x]).toFixed(1), cy: up(row[y]).toFixed(1), r: 4 });
      dot.style.fill = colour(i);
      dot.dataset.i = i;
      dot.addEventListener("pointerenter", () => show(i));
      nodes.push(dot);
    });
    place = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [
        [data.latents[x], left + (at.x - LEFT) / (WIDTH - LEFT - EDGE) * (right - left)],
        [data.latents[y], low + (HEIGHT - BELOW - at.y) / (HEIGHT - BELOW - EDGE) * (high - low)],
      ];
    };
    svg.replaceChildren(...nodes);
    figure.dataset.drawn = `${x} ${y}`;
  };
  svg.addEventListener("pointerleave", () => show(null));
  for (const select of Object.values(selects)) select.addEventListener("change", draw);
  draw();
})();
