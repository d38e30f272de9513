// @ts-nocheck
// The images panel: the column of controls beside the large view: adjustments, histogram, comparison.
import * as imagesPixels from "./pixels.ts";
import * as settings from "./settings.ts";
import { elements } from "../../../web/core/dom.ts";

const { make, icon } = elements;
const SLIDERS = [
  { name: "brightness", label: "Brightness", least: 0, most: 2, from: (x) => x, to: (x) => x },
  { name: "contrast", label: "Contrast", least: 0, most: 5, from: (x) => x, to: (x) => x },
  {
    name: "gamma",
    label: "Gamma",
    least: Math.log2(0.1),
    most: Math.log2(5),
    from: (x) => Math.log2(x),
    to: (x) => Number((2 ** x).toPrecision(2)),
  },
];
const CHANNELS = { all: "All channels", r: "Red", g: "Green", b: "Blue", a: "Alpha", luminance: "Luminance" };
const MAPS = { grey: "Grey", viridis: "Viridis", magma: "Magma", turbo: "Turbo" };
const COLORS = ["#e03131", "#2f9e44", "#1c7ed6"];

const number = (
  value,
) => (Number.isInteger(value)
  ? value.toLocaleString("en-US")
  : Number(value.toPrecision(5)).toLocaleString("en-US", { maximumFractionDigits: 6 }));

/**
 * A native choice.
 * @param options value -> label
 */
export function select(title, options: Record<string, string>, value, act) {
  const made = make("select", { title, "aria-label": title });
  for (const [key, label] of Object.entries(options)) made.append(make("option", { value: key }, label));
  made.value = value;
  made.addEventListener("change", () => act(made.value));
  return made;
}

const row = (label, ...parts) => make("label", { className: "row" }, make("span", {}, label), ...parts);
const section = (title, ...parts) => make("section", {}, make("h4", {}, title), ...parts);

function makeControls(on: { changed: () => void; blinkChanged: () => void }) {
  const set = (name) => (value) => {
    settings.set({ [name]: value });
    refresh();
    on.changed();
  };

  function slider({ name, label, least, most, from, to }) {
    const input = make("input", {
      type: "range",
      min: String(least),
      max: String(most),
      step: "0.01",
      "aria-label": label,
    });
    const shown = make("output", {});
    input.addEventListener("input", () => set(name)(to(Number(input.value))));
    input.addEventListener("dblclick", () => set(name)(1));
    const update = () => {
      const value = settings.number(name, 1);
      input.value = String(from(value));
      shown.textContent = name === "gamma" ? value.toFixed(2) : Math.round(value * 100) + "%";
    };
    return { element: row(label, input, shown), update };
  }

  const sliders = SLIDERS.map(slider);
  const invert = make("input", { type: "checkbox" });
  invert.addEventListener("change", () => set("invert")(invert.checked ? "on" : "off"));
  const channel = select("Channel", CHANNELS, "all", set("channel"));
  const map = select("Colours of pictures of one channel", MAPS, "grey", set("map"));
  const reset = make(
    "button",
    { type: "button", className: "quiet", title: "As stored (R)" },
    icon("reset", 13),
    " As stored",
  );
  reset.addEventListener("click", restore);
  const ramp = make("canvas", {
    width: 480,
    height: 160,
    className: "histogram",
    title: "Stored values, and how many pixels have them (the square root of the count)",
  });
  const facts = make("table", { className: "channel-facts" });
  const kind = select(
    "How the difference is shown",
    { absolute: "Absolute", signed: "Signed, A − B" },
    "absolute",
    set("difference"),
  );
  const amplify = select(
    "Amplification of the difference",
    Object.fromEntries([1, 2, 4, 8, 16, 32].map((x) => [x, "×" + x])),
    "1",
    set("amplify"),
  );
  const stats = make("dl", { className: "difference-facts" });
  const rate = make("input", { type: "range", min: "0", max: "10", step: "0.5", "aria-label": "Changes a second" });
  const rateShown = make("output", {});
  rate.addEventListener("input", () => {
    set("blink")(Number(rate.value));
    on.blinkChanged();
  });
  const sizes = select(
    "How pictures of different sizes are compared",
    { common: "Common part, top left", scaled: "B scaled to A" },
    "common",
    set("sizes"),
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
      row("Colours", map),
      reset,
    ),
    section("Values", ramp, facts),
  );

  function restore() {
    settings.set({ brightness: 1, contrast: 1, gamma: 1, invert: "off", channel: "all", map: "grey" });
    refresh();
    on.changed();
  }

  /** What the settings say, as `images.pixels` takes it. */
  function look() {
    return {
      brightness: settings.number("brightness", 1),
      contrast: settings.number("contrast", 1),
      gamma: settings.number("gamma", 1) || 1,
      invert: settings.on("invert"),
      channel: settings.get("channel") || "all",
      map: settings.get("map") || "grey",
      amplify: 1,
    };
  }

  function refresh() {
    sliders.forEach((one) => one.update());
    invert.checked = settings.on("invert");
    channel.value = settings.get("channel") || "all";
    map.value = settings.get("map") || "grey";
    kind.value = settings.get("difference") || "absolute";
    amplify.value = settings.get("amplify") || "1";
    sizes.value = settings.get("sizes") || "common";
    rate.value = String(settings.number("blink", 2));
    rateShown.textContent = settings.number("blink", 2) > 0 ? rate.value + "/s" : "by key B";
  }

  /** Which parts are of use. */
  function arrange(mode, a, b) {
    blinkPart.hidden = mode !== "blink";
    differencePart.hidden = mode !== "difference";
    const differ = mode !== "off" && a && b && (a.width !== b.width || a.height !== b.height);
    sizesPart.hidden = !differ;
    if (differ) sizesNote.textContent = `A is ${a.width} × ${a.height}, B is ${b.width} × ${b.height}.`;
    const one = a && imagesPixels.isSingle(a, look());
    map.disabled = a !== null && a !== undefined && !one;
    map.title = map.disabled ? "Colours need one channel: choose one above" : "Colours of pictures of one channel";
  }

  /** The numbers of a difference; null while there are none. */
  function showStats(found) {
    if (!found) return stats.replaceChildren();
    const share = (100 * found.differing) / found.count;
    const rows = [
      ["Mean absolute", number(found.mean)],
      ["Largest", number(found.max)],
      ["PSNR", found.psnr === Infinity ? "∞, equal" : found.psnr.toFixed(2) + " dB"],
      ["Pixels that differ", `${number(found.differing)} of ${number(found.count)} (${number(share)}%)`],
    ];
    stats.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }

  let drawnFor = null;
  /** The histogram of a picture; its counting is left to idle moments. */
  async function showHistogram(pixels) {
    if (drawnFor === pixels) return;
    drawnFor = pixels;
    if (!pixels) {
      facts.replaceChildren();
      return ramp.getContext("2d").clearRect(0, 0, ramp.width, ramp.height);
    }
    const found = pixels.histogram || (pixels.histogram = await imagesPixels.histogram(pixels));
    if (drawnFor === pixels) drawHistogram(found, pixels);
  }

  function drawHistogram(found, pixels) {
    const context = ramp.getContext("2d");
    const grey = pixels.channels < 3;
    const names = grey ? ["Grey", "Alpha"] : ["Red", "Green", "Blue", "Alpha"];
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink-soft");
    const color = (c) => (grey ? [ink, "#868e96"][c] : [...COLORS, "#868e96"][c]);
    const colors = found.slice(0, grey ? 1 : 3);
    const most = Math.max(...colors.map((one) => Math.max(...one.counts)));
    context.clearRect(0, 0, ramp.width, ramp.height);
    context.globalAlpha = grey ? 0.85 : 0.55;
    colors.forEach(({ counts }, c) => {
      context.fillStyle = color(c);
      const wide = ramp.width / 256;
      counts.forEach((count, bin) => {
        if (!count) return;
        const high = Math.max(Math.sqrt(count / most) * (ramp.height - 4), 2);
        context.fillRect(bin * wide, ramp.height - high, Math.max(wide, 1), high);
      });
    });
    context.globalAlpha = 1;
    const head = make("tr", {}, make("th", {}), ...["least", "mean", "most"].map((text) => make("th", {}, text)));
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

export { makeControls as make };
