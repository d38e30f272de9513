/** Scales, ticks and lines of the charts. */

const MARGIN = { left: 52, right: 12, top: 10, bottom: 24 };

/** The index of the number nearest to `wanted` in an ascending list. */
export function nearest(numbers, wanted) {
  let best = 0;
  numbers.forEach((number, at) => {
    if (Math.abs(number - wanted) <= Math.abs(numbers[best] - wanted)) best = at;
  });
  return best;
}

/** The scales of a chart that shows all spectra: from the index of a value to x, and from the value to y. */
export function scales(spectra, scale, width, height) {
  const all = spectra.flat();
  const count = Math.max(...spectra.map((values) => values.length));
  const largest = Math.max(...all, 1e-30);
  const positive = all.filter((value) => value > 0);
  // A logarithmic scale spans at most six decades; smaller values are drawn at its lower end.
  const least = scale === "log" ? Math.max(Math.min(...positive, largest), largest / 1e6) : 0;
  const domain = [least, largest];
  const [left, right] = [MARGIN.left, width - MARGIN.right];
  const [top, bottom] = [MARGIN.top, height - MARGIN.bottom];
  const x = Object.assign((index) => left + (count > 1 ? index / (count - 1) : 0) * (right - left), {
    from: left,
    to: right,
    count,
    invert: (pixel) => ((pixel - left) / (right - left)) * (count - 1),
  });
  const shareOf = (value) =>
    scale === "log" ? Math.log(Math.max(value, least) / least) / (Math.log(largest / least) || 1) : value / largest;
  return { x, y: (value) => bottom - shareOf(value) * (bottom - top), domain };
}

/** Round numbers of a domain: decades, or four steps or so. */
export function ticks([least, largest], scale) {
  if (scale === "log") {
    const [from, to] = [Math.ceil(Math.log10(least) - 1e-9), Math.floor(Math.log10(largest) + 1e-9)];
    const decades = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => 10 ** (from + at));
    return decades.length > 1 ? decades : [least, largest];
  }
  const raw = largest / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
  return Array.from({ length: Math.floor(largest / step + 1e-9) + 1 }, (_, at) => at * step);
}

export const pathOf = (values, x, y) =>
  values.map((value, at) => `${at ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");

/** Three digits, as a power of ten where that is shorter. */
export function numberText(value) {
  const short = Number(value.toPrecision(3));
  return short !== 0 && (Math.abs(short) < 1e-3 || Math.abs(short) >= 1e5)
    ? short.toExponential().replace("e+", "e")
    : String(short);
}
