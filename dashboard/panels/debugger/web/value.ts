/** A kept value: a slice of it as a picture, the distribution of its elements, and its numbers. */
import { css, viridis } from "../../../web/core/color.ts";
import { make } from "../../../web/core/dom.ts";
import { save } from "../../../web/core/download.ts";
import { integer } from "../../../web/core/numbers.ts";
import { type Api, isAbort, messageOf } from "../../../web/core/request.ts";
import { copyText } from "../../../web/page/layout.ts";
import type { ValueAnswer } from "./messages.generated.ts";
import { BAD, heatScale } from "./scale.ts";
import { rowsIn, short } from "./texts.ts";
import { button } from "./widgets.ts";

const MOST_COLUMNS = 16;
const MOST_ROWS = 16;
type Value = ValueAnswer & { arrays: Float64Array[] };

export class ValueView {
  readonly element = make("section", { className: "debugger-value", "aria-label": "Value" });
  #api: Api;
  #asking: AbortController | null = null;
  #key = "";
  #value: Value | null = null;
  /** The index of the slice along each leading axis. */
  #fields: HTMLInputElement[] = [];
  #slice = make("div", {});

  constructor(api: Api) {
    this.#api = api;
  }

  /** Shows the value of an observation, at the slice that was chosen for it before, or at the first. */
  async show(id: string, number: number): Promise<void> {
    const key = `${id} ${number}`;
    const at = key === this.#key ? this.#fields.map(({ value }) => Number(value) || 0) : [];
    this.#asking?.abort();
    const asking = this.#asking = new AbortController();
    try {
      const value = await this.#api.ask<Value>("value", { id, number, at: at.join(",") }, { signal: asking.signal });
      if (asking.signal.aborted) return;
      this.#value = value;
      // Let the user go on typing an index.
      if (key !== this.#key) this.#begin(id, number, value);
      this.#key = key;
      this.#draw(value, at);
    } catch (error) {
      if (isAbort(error) || asking.signal.aborted) return;
      this.#key = "";
      this.element.replaceChildren(make("p", { className: "debugger-none" }, messageOf(error)));
    }
  }

  #begin(id: string, number: number, value: Value): void {
    const address = this.#api.address("value.npy", { id, number });
    this.#fields = value.leading.map((length, axis) => {
      const field = make("input", {
        type: "number",
        min: "0",
        max: String(length - 1),
        "aria-label": `Index along axis ${axis}`,
      });
      field.addEventListener("change", () => void this.show(id, number));
      return field;
    });
    const axes = value.leading.map((length, axis) =>
      make("label", {}, `axis ${axis} `, this.#fields[axis], ` of ${integer(length)}`)
    );
    const copy = () => {
      const numbers = this.#value!.arrays[this.#value!.numbers];
      void copyText([...numbers].join("\n"), "Numbers copied");
    };
    const shape = value.shape.length ? `[${value.shape.join(", ")}]` : "a scalar";
    this.element.replaceChildren(
      make("h3", {}, "Value ", make("span", { className: "count" }, `${value.dtype} ${shape}`)),
      make(
        "div",
        { className: "debugger-links" },
        ...axes,
        button("Copy numbers", "Copy the first numbers of this slice", copy, "copy"),
        button(".npy", "Download the whole value as a NumPy file (.npy)", () => save(address, "value.npy"), "download"),
      ),
      this.#slice,
    );
  }

  /** @param asked the requested indices, which the server bounds */
  #draw(value: Value, asked: readonly number[]): void {
    this.#fields.forEach((field, axis) => {
      const isTyped = field === document.activeElement && Number(field.value) !== asked[axis];
      if (!isTyped) field.value = String(value.at[axis]);
    });
    this.#slice.replaceChildren(
      ...(value.rows * value.columns > 1 ? [picture(value)] : []),
      ...histogram(value),
      table(value),
    );
  }
}

/** Draws the slice as a picture: one pixel for each element or block. */
function picture(value: Value): HTMLElement {
  const cells = value.arrays[value.slice];
  const canvas = make("canvas", {
    width: value.columns,
    height: value.rows,
    className: "debugger-picture",
    role: "img",
    "aria-label": `The slice as an image of ${value.rows} by ${value.columns}`,
  });
  const pen = canvas.getContext("2d");
  const image = pen?.createImageData(value.columns, value.rows);
  let [low, high, least] = [Infinity, -Infinity, Infinity];
  for (const each of cells) {
    if (!Number.isFinite(each)) continue;
    [low, high] = [Math.min(low, each), Math.max(high, each)];
    if (each !== 0) least = Math.min(least, Math.abs(each));
  }
  const dark = document.documentElement.dataset.mantineColorScheme === "dark";
  const scale = heatScale(
    { low, high, least: Math.max(least, Math.max(-low, high) / 1e3), signed: low < 0 },
    dark ? "dark" : "light",
  );
  if (pen && image) {
    cells.forEach((each, at) => {
      const color = Number.isNaN(each)
        ? BAD.nan[0]
        : !Number.isFinite(each)
        ? BAD.infinite[0]
        : low < 0
        ? scale.color(each)
        : viridis((each - low) / (high - low || 1));
      image.data.set([...color, 255], 4 * at);
    });
    pen.putImageData(image, 0, 0);
  }
  const [down, across] = value.block;
  const note = down * across > 1 ? `Each pixel is the worst of ${down} × ${across} elements.` : "";
  const range = Number.isFinite(low) ? `${short(low)} to ${short(high)}` : "nothing finite";
  return make("figure", {}, canvas, make("figcaption", {}, [range, note].filter(Boolean).join(". ")));
}

const histogram = (value: Value): HTMLElement[] =>
  histogramOf(value.arrays[value.edges], value.arrays[value.counts], value);

/** Shows elements by size as bars, and the number of non-finite ones as text. */
export function histogramOf(
  edges: ArrayLike<number>,
  counts: ArrayLike<number>,
  { nan, infinite }: { nan: number; infinite: number },
): HTMLElement[] {
  const bad = [
    ...(nan ? [`${integer(nan)} NaN`] : []),
    ...(infinite ? [`${integer(infinite)} infinite`] : []),
  ];
  const all = Array.from(counts);
  const most = Math.max(...all, 0) || 1;
  const bars = all.map((count, at) => {
    const bar = make("i", {
      title: `${short(edges[at])} to ${short(edges[at + 1])}: ${short(Math.round(count * 10) / 10)}`,
    });
    bar.style.height = `${count ? Math.max(2, (100 * count) / most) : 0}%`;
    bar.style.background = css(viridis(0.35));
    return bar;
  });
  const said = counts.length ? `${short(edges[0])} to ${short(edges[counts.length])}` : "Nothing is finite";
  const label = [said, ...bad].join(", ");
  return [
    make(
      "figure",
      {},
      make("div", { className: "debugger-bars", role: "img", "aria-label": `Histogram: ${label}` }, ...bars),
      make("figcaption", {}, label),
    ),
  ];
}

function table(value: Value): HTMLElement {
  const isCut = (value.shape.at(-1) ?? 1) > MOST_COLUMNS;
  const rows = rowsIn(value.arrays[value.numbers], value.shape).slice(0, MOST_ROWS).map((own) =>
    make(
      "tr",
      {},
      ...Array.from(own.subarray(0, MOST_COLUMNS), (each) =>
        make(
          "td",
          { className: Number.isFinite(each) ? "" : "bad", title: String(each) },
          short(Number.isNaN(each) ? "NaN" : each),
        )),
      ...(isCut ? [make("td", {}, "…")] : []),
    )
  );
  return make(
    "div",
    { className: "debugger-numbers", tabIndex: 0, role: "group", "aria-label": "Numbers" },
    make("table", {}, ...rows),
  );
}
