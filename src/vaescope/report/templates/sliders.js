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
  const orders = new Int32Array(bytes(network.orders));

  // A transposed convolution in channels-last order; a fully connected layer is one of one pixel.
  const affine = ({ size, kernel, inputs, outputs, stride, padding, extra }, weight, scale, bias) => {
    const grown = (size - 1) * stride + kernel - 2 * padding + extra;
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
    silu: (x) => x / (1 + Math.exp(-x)),
    gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
    "gelu-tanh": (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
    elu: (x, slope) => (x > 0 ? x : slope * Math.expm1(x)),
    softplus: (x, sharp) => (Math.max(sharp * x, 0) + Math.log1p(Math.exp(-Math.abs(sharp * x)))) / sharp,
    exp: Math.exp,
    clamp: (x, low, high) => Math.min(Math.max(x, low), high),
  };
  // Abramowitz and Stegun 7.1.26: within 1.5e-7.
  const erf = (x) => {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    return Math.sign(x) * (1 - tail * Math.exp(-x * x));
  };
  // Each layer writes into its own buffer: another one may read what it read.
  const buffered = (fill) => {
    let y = null;
    return (x, other) => { y ||= new Float32Array(x.length); fill(y, x, other); return y; };
  };
  const pointwise = (f, slope, high) => buffered((y, x) => {
    for (let i = 0; i < x.length; i += 1) y[i] = f(x[i], slope, high);
  });
  const scaled = (scale, shift) => buffered((y, x) => {
    for (let i = 0; i < x.length; i += 1) y[i] = x[i] * scale[i % scale.length] + shift[i % shift.length];
  });
  const take = (order) => {
    const y = new Float32Array(order.length);
    return (x) => {
      for (let i = 0; i < y.length; i += 1) y[i] = order[i] < 0 ? 0 : x[order[i]];
      return y;
    };
  };
  const resize = ({ size, grown, channels }, matrix) => {
    const wide = new Float32Array(size * grown * channels), y = new Float32Array(grown * grown * channels);
    // along rows, then along columns; most of the matrix is zero
    const along = (from, to, lines, lineIn, lineOut, step) => {
      to.fill(0);
      for (let a = 0; a < grown; a += 1) for (let b = 0; b < size; b += 1) {
        const w = matrix[a * size + b];
        if (w === 0) continue;
        for (let line = 0; line < lines; line += 1) {
          const i = line * lineIn + b * step, o = line * lineOut + a * step;
          for (let c = 0; c < step; c += 1) to[o + c] += w * from[i + c];
        }
      }
    };
    return (x) => {
      along(x, wide, size, size * channels, grown * channels, channels);
      along(wide, y, 1, 0, 0, grown * channels);
      return y;
    };
  };
  const add = () => buffered((y, x, other) => { for (let i = 0; i < y.length; i += 1) y[i] = x[i] + other[i]; });
  const mul = () => buffered((y, x, other) => { for (let i = 0; i < y.length; i += 1) y[i] = x[i] * other[i]; });
  const cat = () => (...parts) => {
    const y = new Float32Array(parts.reduce((n, part) => n + part.length, 0));
    let at = 0;
    for (const part of parts) { y.set(part, at); at += part.length; }
    return y;
  };
  let used = 0, read = 0, moved = 0;
  const single = (length) => singles.subarray(read, read += length);
  const MADE = {
    affine: (layer) => {
      const { kernel, inputs, outputs, exact } = layer, length = kernel * kernel * inputs * outputs;
      const weight = exact ? single(length) : weights.subarray(used, used += length);
      return affine(layer, weight, single(outputs), single(outputs));
    },
    scaled: ({ length }) => scaled(single(length), single(length)),
    take: ({ length }) => take(orders.subarray(moved, moved += length)),
    resize: (layer) => resize(layer, single(layer.grown * layer.size)),
    add, mul, cat,
  };
  const layers = network.layers.map((layer, place) => {
    const make = MADE[layer.kind] || (() => pointwise(FUNCTIONS[layer.kind], layer.slope, layer.high));
    return { run: make(layer), source: layer.source || [place - 1] };
  });
  const run = (code) => {
    const outputs = [];
    for (const { run: one, source } of layers) {
      outputs.push(one(...source.map((i) => (i < 0 ? code : outputs[i]))));
    }
    return outputs[outputs.length - 1];
  };

  const [height, width, channels] = network.shape;
  const canvas = figure.querySelector("canvas");
  const image = canvas.getContext("2d").createImageData(width, height);
  image.data.fill(255);
  const inputs = [...figure.querySelectorAll("input")];
  const z = Float32Array.from(network.base);
  // Sliders are in units of the prior where it is not the standard normal.
  const place = (latent, value) => (network.scale ? network.centre[latent] + network.scale[latent] * value : value);
  const draw = (code, onto) => {
    const output = run(code);
    for (let pixel = 0; pixel < width * height; pixel += 1) {
      for (let k = 0; k < 3; k += 1) image.data[4 * pixel + k] = 255 * output[pixel * channels + (channels < 3 ? 0 : k)];
    }
    Object.assign(onto, { width, height });
    onto.getContext("2d").putImageData(image, 0, 0);
    onto.output = output.slice(); // for those who want the numbers, in the console
  };
  // Other figures decode too: latents that are not given are where the sliders start.
  figure.decode = (values, onto) => {
    const code = Float32Array.from(network.base);
    for (const [latent, value] of values) code[latent] = value;
    draw(code, onto);
  };
  const show = () => {
    for (const input of inputs) {
      z[input.dataset.latent] = place(input.dataset.latent, input.valueAsNumber);
      const text = input.valueAsNumber.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "\u2212");
      input.nextElementSibling.textContent = text;
      input.setAttribute("aria-valuetext", text);
    }
    const start = performance.now();
    draw(z, canvas);
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
