/** The column of controls beside the large view: adjustments, histogram, comparison. */
import { tip } from "../../../web/core/commands.ts";
import { type Child, icon, make } from "../../../web/core/dom.ts";
import { integer, shortNumber } from "../../../web/core/numbers.ts";
import type { Choice, NumberSetting, Setting } from "../../../web/core/setting.ts";
import { KEYS } from "./large_keys.ts";
import * as imagesPixels from "./pixels.ts";
import type { DifferenceFacts, Histogram, Look } from "./pixels.ts";
import type { Pixels } from "./png.ts";
import { settings } from "./settings.generated.ts";
import { read, reset, write } from "./settings.ts";

interface Adjustment {
  setting: NumberSetting;
  label: string;
  from: (value: number) => number;
  to: (place: number) => number;
  text: (value: number) => string;
}
const same = (x: number) => x;
const percent = (value: number) => Math.round(value * 100) + "%";
const SLIDERS: Adjustment[] = [
  { setting: settings.brightness, label: "Brightness", from: same, to: same, text: percent },
  { setting: settings.contrast, label: "Contrast", from: same, to: same, text: percent },
  {
    setting: settings.gamma,
    label: "Gamma",
    from: Math.log2,
    to: (x) => Number((2 ** x).toPrecision(2)),
    text: (value) => value.toFixed(2),
  },
];
const CHANNELS: Record<Look["channel"], string> = {
  all: "All channels",
  r: "Red",
  g: "Green",
  b: "Blue",
  a: "Alpha",
  luminance: "Luminance",
};
const MAPS: Record<Look["map"], string> = { gray: "Gray", viridis: "Viridis", magma: "Magma", turbo: "Turbo" };
const COLORS = ["#e03131", "#2f9e44", "#1c7ed6"];
const ALPHA = "#868e96";

const number = (value: number) => shortNumber(value, 5);

/** A native select element with a setting's options. */
export function select<T extends string>(
  title: string,
  setting: Choice<T>,
  label: (value: T) => string,
  act: (value: T) => void,
): HTMLSelectElement {
  const entries = setting.options.map((value) => make("option", { value }, label(value)));
  const made = make("select", { title, "aria-label": title }, ...entries);
  made.addEventListener("change", () => act(setting.parse([made.value])));
  return made;
}

const row = (label: string, ...parts: Child[]) =>
  make("label", { className: "row" }, make("span", {}, label), ...parts);
const section = (title: string, ...parts: Child[]) => make("section", {}, make("h4", {}, title), ...parts);

export type Controls = ReturnType<typeof makeControls>;

export function makeControls(on: { changed: () => void; blinkChanged: () => void }) {
  const set = <T>(setting: Setting<T>) => (value: T) => {
    write(setting, value);
    refresh();
    on.changed();
  };

  function slider({ setting, label, from, to, text }: Adjustment) {
    const input = make("input", {
      type: "range",
      min: String(from(setting.least)),
      max: String(from(setting.largest)),
      step: "0.01",
      "aria-label": label,
    });
    const shown = make("output", {});
    input.addEventListener("input", () => set(setting)(to(Number(input.value))));
    input.addEventListener("dblclick", () => set(setting)(setting.default));
    const update = () => {
      const value = read(setting);
      input.value = String(from(value));
      shown.textContent = text(value);
    };
    return { element: row(label, input, shown), update };
  }

  const sliders = SLIDERS.map(slider);
  const invert = make("input", { type: "checkbox" });
  invert.addEventListener("change", () => set(settings.invert)(invert.checked));
  const channel = select("Channel", settings.channel, (name) => CHANNELS[name], set(settings.channel));
  const map = select("Colormap of single-channel images", settings.map, (name) => MAPS[name], set(settings.map));
  const stored = make(
    "button",
    { type: "button", className: "quiet", title: tip(KEYS.restore) },
    icon("reset", 13),
    " As stored",
  );
  stored.addEventListener("click", restore);
  const ramp = make("canvas", {
    width: 480,
    height: 160,
    className: "histogram",
    title: "Histogram of the stored values (square root of the pixel count)",
  });
  const facts = make("table", { className: "channel-facts" });
  const kind = select(
    "How to show the difference",
    settings.difference,
    (name) => ({ absolute: "Absolute", signed: "Signed, A − B" })[name],
    set(settings.difference),
  );
  const amplify = select(
    "Amplification of the difference",
    settings.amplify,
    (factor) => "×" + factor,
    set(settings.amplify),
  );
  const stats = make("dl", { className: "difference-facts" });
  const rate = make("input", {
    type: "range",
    min: String(settings.blink.least),
    max: String(settings.blink.largest),
    step: "0.5",
    "aria-label": "Blinks per second",
  });
  const rateShown = make("output", {});
  rate.addEventListener("input", () => {
    set(settings.blink)(Number(rate.value));
    on.blinkChanged();
  });
  const sizes = select(
    "How images of different sizes are compared",
    settings.sizes,
    (name) => ({ common: "Common part, top left", scaled: "B scaled to A" })[name],
    set(settings.sizes),
  );
  const sizesNote = make("p", { className: "sizes-note" });
  const blinkPart = section("Blink", row("Rate", rate, rateShown));
  const differencePart = section("Difference", row("Shown", kind), row("Amplify", amplify), stats);
  const sizesPart = section("Sizes differ", sizesNote, row("Compare", sizes));
  const element = make(
    "aside",
    { className: "controls-column" },
    blinkPart,
    differencePart,
    sizesPart,
    section(
      "Adjust",
      ...sliders.map((one) => one.element),
      row("Invert", invert),
      row("Channel", channel),
      row("Colors", map),
      stored,
    ),
    section("Values", ramp, facts),
  );

  function restore() {
    const { brightness, contrast, gamma, invert, channel, map } = settings;
    reset(brightness, contrast, gamma, invert, channel, map);
    refresh();
    on.changed();
  }

  /** The current settings, in the form that `paint` in pixels.ts takes. */
  function look(): Look {
    return {
      brightness: read(settings.brightness),
      contrast: read(settings.contrast),
      gamma: read(settings.gamma),
      invert: read(settings.invert),
      channel: read(settings.channel),
      map: read(settings.map),
      amplify: 1,
    };
  }

  function refresh() {
    sliders.forEach((one) => one.update());
    invert.checked = read(settings.invert);
    channel.value = read(settings.channel);
    map.value = read(settings.map);
    kind.value = read(settings.difference);
    amplify.value = read(settings.amplify);
    sizes.value = read(settings.sizes);
    rate.value = String(read(settings.blink));
    rateShown.textContent = read(settings.blink) > 0 ? rate.value + "/s" : "manual (press B)";
  }

  /** Shows the parts that are useful now. */
  function arrange(mode: string, a: Pixels | null, b: Pixels | null) {
    blinkPart.hidden = mode !== "blink";
    differencePart.hidden = mode !== "difference";
    const differ = a !== null && b !== null && (a.width !== b.width || a.height !== b.height);
    sizesPart.hidden = mode === "off" || !differ;
    if (differ) sizesNote.textContent = `A is ${a.width} × ${a.height}, B is ${b.width} × ${b.height}.`;
    map.disabled = a !== null && !imagesPixels.isSingle(a, look());
    map.title = map.disabled ? "Colors need one channel: choose one above" : "Colormap of single-channel images";
  }

  /** Shows the numbers of a difference; null if there are none. */
  function showStats(found: DifferenceFacts | null) {
    if (!found) return stats.replaceChildren();
    const share = (100 * found.differing) / found.count;
    const rows = [
      ["Mean absolute", number(found.mean)],
      ["Maximum", number(found.max)],
      ["PSNR", found.psnr === Infinity ? "∞, equal" : found.psnr.toFixed(2) + " dB"],
      ["Pixels that differ", `${integer(found.differing)} of ${integer(found.count)} (${number(share)}%)`],
    ];
    stats.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }

  const histograms: WeakMap<Pixels, Histogram[]> = new WeakMap();
  const pen = ramp.getContext("2d") as CanvasRenderingContext2D;
  let drawnFor: Pixels | null = null;
  /** Shows the histogram of a picture, which is counted when the page is idle. */
  async function showHistogram(pixels: Pixels | null) {
    if (drawnFor === pixels) return;
    drawnFor = pixels;
    if (!pixels) {
      facts.replaceChildren();
      return pen.clearRect(0, 0, ramp.width, ramp.height);
    }
    const found = histograms.get(pixels) ?? await imagesPixels.histogram(pixels);
    histograms.set(pixels, found);
    if (drawnFor === pixels) drawHistogram(found, pixels);
  }

  function drawHistogram(found: Histogram[], pixels: Pixels) {
    const gray = pixels.channels < 3;
    const names = gray ? ["Gray", "Alpha"] : ["Red", "Green", "Blue", "Alpha"];
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink-soft");
    const color = (c: number) => [...(gray ? [ink] : COLORS), ALPHA][c];
    const colors = found.slice(0, gray ? 1 : 3);
    const most = Math.max(...colors.map((one) => Math.max(...one.counts)));
    pen.clearRect(0, 0, ramp.width, ramp.height);
    pen.globalAlpha = gray ? 0.85 : 0.55;
    colors.forEach(({ counts }, c) => {
      pen.fillStyle = color(c);
      const wide = ramp.width / 256;
      counts.forEach((count, bin) => {
        if (!count) return;
        const high = Math.max(Math.sqrt(count / most) * (ramp.height - 4), 2);
        pen.fillRect(bin * wide, ramp.height - high, Math.max(wide, 1), high);
      });
    });
    pen.globalAlpha = 1;
    const head = make("tr", {}, make("td", {}), ...["min", "mean", "max"].map((text) => make("th", {}, text)));
    const rows = found.map((one, c) => {
      const dot = make("i", { className: "channel-dot" });
      dot.style.background = color(c);
      return make(
        "tr",
        {},
        make("th", {}, dot, names[c]),
        ...[one.low, one.mean, one.high].map((value) => make("td", {}, number(Number(value.toFixed(2))))),
      );
    });
    facts.replaceChildren(head, ...rows);
  }

  refresh();
  return { element, look, refresh, arrange, showStats, showHistogram, restore };
}
