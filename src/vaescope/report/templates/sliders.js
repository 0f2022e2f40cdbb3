"use strict";
(() => {
  const figure = document.querySelector("figure.sliders");
  if (!figure) return;
  const network = JSON.parse(figure.querySelector("script.network").textContent);

  // Arrays from their text: five digits in base 85 are four bytes.
  const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`{|}~";
  const digit = new Uint8Array(128);
  for (let i = 0; i < 85; i += 1) digit[DIGITS.charCodeAt(i)] = i;
  const bytes = (text) => {
    const view = new DataView(new ArrayBuffer((text.length / 5) * 4));
    for (let i = 0; i < text.length; i += 5) {
      let group = 0;
      for (let k = 0; k < 5; k += 1) group = group * 85 + digit[text.charCodeAt(i + k)];
      view.setUint32((i / 5) * 4, group);
    }
    return view.buffer;
  };
  const weights = new Int16Array(bytes(network.weights));
  const singles = new Float32Array(bytes(network.singles));

  // A transposed convolution in channels-last order; a fully connected layer is one of one pixel.
  const affine = ({ size, kernel, inputs, outputs, stride, padding }, weight, scale, bias) => {
    const grown = (size - 1) * stride + kernel - 2 * padding;
    const y = new Float32Array(grown * grown * outputs);
    // Of each pixel the inputs that are not zero: half of what comes out of a ReLU is.
    const values = new Float32Array(size * size * inputs), places = new Int32Array(values.length);
    const ends = new Int32Array(size * size);
    return (x) => {
      for (let pixel = 0; pixel < ends.length; pixel += 1) {
        let n = pixel * inputs;
        for (let i = 0; i < inputs; i += 1) {
          const value = x[pixel * inputs + i];
          if (value !== 0) { values[n] = value; places[n] = i * outputs; n += 1; }
        }
        ends[pixel] = n;
      }
      y.fill(0);
      for (let down = 0; down < kernel; down += 1) for (let right = 0; right < kernel; right += 1) {
        const block = (down * kernel + right) * inputs * outputs;
        for (let row = 0; row < size; row += 1) {
          const above = row * stride + down - padding;
          if (above < 0 || above >= grown) continue;
          for (let column = 0; column < size; column += 1) {
            const left = column * stride + right - padding;
            if (left < 0 || left >= grown) continue;
            const pixel = row * size + column, to = (above * grown + left) * outputs;
            const start = pixel * inputs, end = ends[pixel];
            let o = 0;
            for (; o + 4 <= outputs; o += 4) { // four sums at a time stay in registers
              let a = 0, b = 0, c = 0, d = 0;
              for (let n = start; n < end; n += 1) {
                const value = values[n], w = block + places[n] + o;
                a += value * weight[w];
                b += value * weight[w + 1];
                c += value * weight[w + 2];
                d += value * weight[w + 3];
              }
              y[to + o] += a;
              y[to + o + 1] += b;
              y[to + o + 2] += c;
              y[to + o + 3] += d;
            }
            for (; o < outputs; o += 1) {
              let a = 0;
              for (let n = start; n < end; n += 1) a += values[n] * weight[block + places[n] + o];
              y[to + o] += a;
            }
          }
        }
      }
      for (let place = 0; place < y.length; place += outputs) {
        for (let o = 0; o < outputs; o += 1) y[place + o] = y[place + o] * scale[o] + bias[o];
      }
      return y;
    };
  };
  const FUNCTIONS = {
    relu: (x) => (x > 0 ? x : 0),
    "leaky-relu": (x, slope) => (x > 0 ? x : slope * x),
    tanh: Math.tanh,
    xtanh: (x) => Math.tanh(x) + 0.1 * x,
    sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  };
  const pointwise = (f, slope) => (x) => {
    for (let i = 0; i < x.length; i += 1) x[i] = f(x[i], slope);
    return x;
  };
  let used = 0, read = 0;
  const layers = network.layers.map((layer) => {
    if (layer.kind !== "affine") return pointwise(FUNCTIONS[layer.kind], layer.slope);
    const { kernel, inputs, outputs } = layer;
    const weight = weights.subarray(used, used += kernel * kernel * inputs * outputs);
    const scale = singles.subarray(read, read += outputs), bias = singles.subarray(read, read += outputs);
    return affine(layer, weight, scale, bias);
  });

  const [height, width, channels] = network.shape;
  const canvas = figure.querySelector("canvas");
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  image.data.fill(255);
  const inputs = [...figure.querySelectorAll("input")];
  const z = Float32Array.from(network.base);
  // Sliders are in units of the prior where it is not the standard normal.
  const place = (latent, value) => (network.scale ? network.centre[latent] + network.scale[latent] * value : value);
  const show = () => {
    for (const input of inputs) {
      z[input.dataset.latent] = place(input.dataset.latent, input.valueAsNumber);
      const text = input.valueAsNumber.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "\u2212");
      input.nextElementSibling.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
    const start = performance.now();
    const output = layers.reduce((x, layer) => layer(x), z);
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      for (let k = 0; k < 3; k += 1) image.data[4 * pixel + k] = 255 * output[pixel * channels + (channels < 3 ? 0 : k)];
    }
    context.putImageData(image, 0, 0);
    canvas.output = output; // for those who want the numbers, in the console
    figure.dataset.milliseconds = (performance.now() - start).toFixed(1);
  };
  let waiting = 0;
  const soon = () => { waiting ||= requestAnimationFrame(() => { waiting = 0; show(); }); };
  inputs.forEach((input) => input.addEventListener("input", soon));
  figure.querySelector("button").addEventListener("click", () => {
    inputs.forEach((input) => { input.value = input.defaultValue; });
    soon();
  });
  figure.querySelector(".deck").hidden = false;
  show();
})();
