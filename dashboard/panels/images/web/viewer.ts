/** The pictures of the large view, alone or compared: side by side, swiped, blinking or subtracted. */
import { make, runLabel, stepText } from "../../../web/core/dom.ts";
import type { ValueOf } from "../../../web/core/setting.ts";
import { type Layer, makeStage, type Stage } from "./canvas.ts";
import type { Slot } from "./compare_side.ts";
import * as pictures from "./pictures.ts";
import * as imagesPixels from "./pixels.ts";
import type { Difference, DifferenceFacts, Look } from "./pixels.ts";
import type { Pixels } from "./png.ts";
import { settings } from "./settings.generated.ts";
import { read, write } from "./settings.ts";
import { type Place, type View, Viewport } from "./viewport.ts";

/** A way of comparing. */
export type Mode = ValueOf<typeof settings.compare>;

const PLAIN: Look = { brightness: 1, contrast: 1, gamma: 1, invert: false, channel: "all", map: "gray", amplify: 1 };

interface Pane {
  element: HTMLElement;
  stage: Stage;
  label: HTMLElement;
  instead: HTMLElement;
}
/** The contents of a pane. */
interface Content {
  slot: Slot;
  layers: Layer[];
  error: string;
}

export type Viewer = ReturnType<typeof makeViewer>;

const percentOf = (share: number) => String(Math.round(share * 100));

export function makeViewer(
  on: {
    a: () => Slot;
    b: () => Slot | null;
    mode: () => Mode;
    look: () => Look;
    hovered: (at: Place | null) => void;
    computed: (result: DifferenceFacts | null) => void;
    zoomed: (view: View) => void;
  },
) {
  const element = make("div", { className: "view" });
  const viewport = new Viewport(on.zoomed);
  const divider = make("div", {
    className: "divider",
    role: "slider",
    tabIndex: 0,
    hidden: true,
    title: "Divider ([ and ])",
    "aria-label": "Divider",
    "aria-valuenow": percentOf(read(settings.divider)),
  });
  let built: Mode | "" = "";
  let panes: Pane[] = [];
  let blinking = 0;
  let second = false;
  let result: Difference | null = null; // difference of the two pictures
  let resultOf = "";
  let work = 0;
  const numbers: WeakMap<Pixels, number> = new WeakMap();
  let numbered = 0;

  /** A number that identifies a picture's pixels. */
  function idOf(pixels: Pixels): number {
    let id = numbers.get(pixels);
    if (!id) numbers.set(pixels, id = numbered += 1);
    return id;
  }

  function hover(at: Place | null) {
    panes.forEach((pane) => pane.stage.mark(at));
    on.hovered(at);
  }

  function build(count: number) {
    panes.forEach((pane) => pane.stage.close());
    panes = Array.from({ length: count }, () => {
      const stage = makeStage(viewport, hover);
      const label = make("div", { className: "pane-label" });
      const instead = make("div", { className: "instead", hidden: true });
      return { element: make("div", { className: "pane" }, stage.canvas, instead, label), stage, label, instead };
    });
    element.replaceChildren(...panes.map((pane) => pane.element), divider);
  }

  /** The second picture for comparison, resized to the first one's size if the user wants that. */
  function other(): Pixels | null {
    const b = on.b();
    const first = on.a().pixels;
    if (!b?.pixels || !first || read(settings.sizes) !== "scaled") return b?.pixels ?? null;
    const { width, height } = first;
    if (b.pixels.width === width && b.pixels.height === height) return b.pixels;
    const name = `${idOf(b.pixels)}:${width}x${height}`;
    if (b.resized?.name === name) return b.resized.pixels;
    const resized: Slot["resized"] = b.resized = { name, pixels: null };
    imagesPixels.resize(b.pixels, width, height).then((pixels) => {
      resized.pixels = pixels;
      draw();
    });
    return null;
  }

  /** The difference of the two pictures; null while it is being computed. */
  function subtraction(first: Pixels, pixels: Pixels): Difference | null {
    const name = `${idOf(first)}-${idOf(pixels)}`;
    if (resultOf === name) return result;
    resultOf = name;
    result = null;
    const own = (work += 1);
    imagesPixels.difference(first, pixels).then((found) => {
      if (own !== work) return;
      result = found;
      on.computed(found.stats);
      draw();
    });
    return null;
  }

  /** The contents of each pane. */
  function shown(): Content[] {
    const a = on.a();
    const b = on.b();
    const look = on.look();
    const layer = (pixels: Pixels | null, from?: number): Layer[] => (pixels ? [{ pixels, look, from }] : []);
    const one = (slot: Slot, pixels: Pixels | null) => ({ slot, layers: layer(pixels), error: slot.error });
    if (!b) return [one(a, a.pixels)];
    switch (on.mode()) {
      case "off":
        return [one(a, a.pixels)];
      case "side":
        return [one(a, a.pixels), one(b, other())];
      case "blink":
        return [second ? one(b, other()) : one(a, a.pixels)];
      case "swipe":
        return [{
          slot: a,
          layers: [...layer(a.pixels), ...layer(other(), cut())],
          error: a.error || b.error,
        }];
      case "difference": {
        const pixels = other();
        const found = a.pixels && pixels && subtraction(a.pixels, pixels);
        const signed = read(settings.difference) === "signed";
        const amplify = Number(read(settings.amplify));
        const layers = found
          ? [{ pixels: signed ? found.signed : found.absolute, look: { ...PLAIN, map: look.map, amplify } }]
          : [];
        return [{ slot: a, layers, error: a.error || b.error }];
      }
    }
  }

  function labelOf(slot: Slot, letter: string) {
    const at = slot.point();
    const { run, tag } = slot.choice;
    return [
      make("b", {}, letter),
      runLabel({ run, light: slot.light, dark: slot.dark }),
      make("span", { className: "dim" }, `${tag} · step ${at ? stepText(at.step) : "?"}`),
    ];
  }

  function draw() {
    const b = on.b();
    const mode = b ? on.mode() : "off";
    if (built !== mode) {
      built = mode;
      build(mode === "side" ? 2 : 1);
      element.dataset.mode = mode;
      clearInterval(blinking);
      blinking = 0;
      second = false;
      beat();
    }
    const all = shown();
    panes.forEach((pane, i) => {
      const { slot, layers, error } = all[i];
      pane.stage.show(layers);
      pane.instead.hidden = !error && !(slot.facts && !slot.pixels && !layers.length);
      if (error) pane.instead.replaceChildren(pictures.placeholder(error));
      else if (slot.facts && !slot.pixels) playAsIs(pane.instead, slot);
      pane.stage.canvas.hidden = !pane.instead.hidden;
      const letter = (mode === "side" && i === 1) || (mode === "blink" && second) ? "B" : "A";
      pane.label.hidden = mode === "off" || mode === "difference" || mode === "swipe";
      pane.label.replaceChildren(...labelOf(slot, letter));
      pane.element.classList.toggle("busy", slot.busy);
    });
    divider.hidden = mode !== "swipe";
    if (mode === "swipe") placeDivider();
    if (mode !== "difference" || !on.a().pixels || !b?.pixels) on.computed(null);
    else if (result && resultOf) on.computed(result.stats);
  }

  /** Shows an animation that this browser cannot decode into frames. */
  function playAsIs(box: HTMLElement, { url, choice }: Slot) {
    if (box.querySelector("img")?.src === url) return;
    box.replaceChildren(
      make("img", { src: url, alt: `${choice.tag}, ${choice.run}` }),
      make(
        "span",
        { className: "dim" },
        "This browser plays animations only as a whole: single frames and pixel values need localhost or HTTPS.",
      ),
    );
  }

  // --- the divider -----------------------------------------------------------------------------------------

  /** The divider's place in pixels of the first picture, whatever the size of the second. */
  const cut = () => read(settings.divider) * (on.a().pixels?.width ?? 0);

  function placeDivider() {
    const { stage } = panes[0];
    requestAnimationFrame(() => {
      if (!stage.canvas.isConnected || !on.a().pixels) return;
      const { left, scale } = viewport.corner(stage);
      divider.style.left = (left + cut() * scale) / devicePixelRatio + "px";
      divider.setAttribute("aria-valuenow", percentOf(read(settings.divider)));
    });
  }

  function setDivider(share: number) {
    const { least, largest } = settings.divider;
    write(settings.divider, Math.round(Math.min(Math.max(share, least), largest) * 1000) / 1000);
    draw();
  }

  /** Moves the divider with keys. */
  function moveDivider(by: number) {
    if (built === "swipe") setDivider(read(settings.divider) + by);
  }

  divider.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    divider.focus();
    divider.setPointerCapture(event.pointerId);
    divider.onpointermove = (moved) => {
      const { stage } = panes[0];
      const { pixels } = on.a();
      if (!pixels) return;
      const { left, scale } = viewport.corner(stage);
      const x = (moved.clientX - stage.canvas.getBoundingClientRect().left) * devicePixelRatio;
      setDivider((x - left) / scale / pixels.width);
    };
    divider.onpointerup = divider.onpointercancel = () => (divider.onpointermove = null);
  });

  // --- blinking --------------------------------------------------------------------------------------------

  /** Starts or stops blinking, according to the mode and the rate. */
  function beat() {
    clearInterval(blinking);
    const rate = read(settings.blink);
    blinking = built === "blink" && rate > 0 ? window.setInterval(() => ((second = !second), draw()), 1000 / rate) : 0;
  }

  /** Switches to the other picture for the user, and stops automatic blinking. */
  function swap() {
    write(settings.blink, 0);
    second = !second;
    beat();
    draw();
  }

  /** Everything visible as one canvas in the picture's own pixels, for saving. */
  function whole(): HTMLCanvasElement | null {
    const all = shown().map((pane) => pane.layers).filter((layers) => layers.length);
    if (!all.length) return null;
    const sizes = all.map((layers) => layers[0].pixels);
    const canvas = make("canvas", {
      width: sizes.reduce((sum, one) => sum + one.width, 0),
      height: Math.max(...sizes.map((one) => one.height)),
    });
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    let left = 0;
    for (const layers of all) {
      for (const { pixels, look, from } of layers) {
        const start = Math.round(from ?? 0);
        if (start >= pixels.width) continue;
        context.putImageData(
          imagesPixels.paint(pixels, look, start, 0, pixels.width - start, pixels.height),
          left + start,
          0,
        );
      }
      left += layers[0].pixels.width;
    }
    return canvas;
  }

  function close() {
    clearInterval(blinking);
    work += 1;
    panes.forEach((pane) => pane.stage.close());
  }

  // Keys may be pressed before the first picture arrives.
  build(1);
  return {
    element,
    draw,
    viewport,
    moveDivider,
    beat,
    swap,
    whole,
    other,
    close,
    main: () => panes[0].stage,
    isSecond: () => second,
    place: () => built === "swipe" && placeDivider(),
  };
}
