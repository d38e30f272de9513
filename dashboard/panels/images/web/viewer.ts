// @ts-nocheck
// The images panel: the large view's pictures, alone or compared: side by side, swiped, blinking, subtracted.
import * as imagesPixels from "./pixels.ts";
import * as imagesStage from "./canvas.ts";
import * as pictures from "./pictures.ts";
import * as settings from "./settings.ts";
import { elements } from "../../../web/core/dom.ts";

const { make, step, runLabel } = elements;

function makeViewer(
  on: {
    a: () => object;
    b: () => object | null;
    mode: () => string;
    look: () => object;
    grid: () => boolean;
    hovered: (at: { x: number; y: number } | null) => void;
    computed: (result: object | null) => void;
    zoomed: (view: object) => void;
  },
) {
  const element = make("div", { className: "view" });
  const viewport = imagesStage.viewport(on.zoomed);
  const divider = make("div", {
    className: "divider",
    role: "slider",
    tabIndex: 0,
    title: "Divider ([ and ])",
    "aria-label": "Divider",
  });
  let built = "";
  let panes: { element: HTMLElement; stage: object; label: HTMLElement; instead: HTMLElement }[] = [];
  let blinking = 0;
  let second = false;
  let result = null; // of the subtraction
  let resultOf = "";
  let work = 0;
  const numbers = new WeakMap();
  let numbered = 0;

  /** A number for each picture's pixels, to know them by. */
  function idOf(pixels) {
    if (!numbers.has(pixels)) numbers.set(pixels, numbered += 1);
    return numbers.get(pixels);
  }

  function hover(at) {
    panes.forEach((pane) => pane.stage.mark(at));
    on.hovered(at);
  }

  function build(count) {
    panes.forEach((pane) => pane.stage.close());
    panes = Array.from({ length: count }, () => {
      const stage = imagesStage.make(viewport, { hover, grid: on.grid });
      const label = make("div", { className: "pane-label" });
      const instead = make("div", { className: "instead", hidden: true });
      return { element: make("div", { className: "pane" }, stage.canvas, instead, label), stage, label, instead };
    });
    element.replaceChildren(...panes.map((pane) => pane.element), divider);
  }

  /** The second picture as it is compared: at the first one's size where the user wants that. */
  function other() {
    const b = on.b();
    const a = on.a();
    if (!b || !b.pixels || !a.pixels || settings.get("sizes") !== "scaled" || sameSize(a.pixels, b.pixels)) {
      return b && b.pixels;
    }
    const name = `${idOf(b.pixels)}:${a.pixels.width}x${a.pixels.height}`;
    if (b.resized && b.resized.name === name) return b.resized.pixels;
    b.resized = { name, pixels: null };
    const { resized } = b;
    imagesPixels.resize(b.pixels, a.pixels.width, a.pixels.height).then((pixels) => {
      resized.pixels = pixels;
      draw();
    });
    return null;
  }

  const sameSize = (one, two) => one.width === two.width && one.height === two.height;

  /** The subtraction of what is shown; null while it is worked out. */
  function subtraction(first, pixels) {
    const name = `${idOf(first)}-${idOf(pixels)}`;
    if (resultOf === name) return result;
    resultOf = name;
    result = null;
    const mine = (work += 1);
    imagesPixels.difference(first, pixels).then((found) => {
      if (mine !== work) return;
      result = found;
      on.computed(found.stats);
      draw();
    });
    return null;
  }

  const PLAIN = { brightness: 1, contrast: 1, gamma: 1, invert: false, channel: "all", amplify: 1 };

  /** What each pane shows. */
  function shown(): { pane: object; slot: object; layers: object[]; label: Node[]; error: string }[] {
    const a = on.a();
    const b = on.b();
    const mode = b ? on.mode() : "off";
    const look = on.look();
    const layer = (pixels, more) => (pixels ? [{ pixels, look, ...more }] : []);
    const one = (slot, pixels) => ({ slot, layers: layer(pixels), error: slot.error });
    switch (mode) {
      case "off":
        return [one(a, a.pixels)];
      case "side":
        return [one(a, a.pixels), one(b, other())];
      case "blink":
        return [second ? one(b, other()) : one(a, a.pixels)];
      case "swipe":
        return [{
          slot: a,
          layers: [...layer(a.pixels), ...layer(other(), { from: settings.number("divider", 0.5) })],
          error: a.error || b.error,
        }];
      case "difference": {
        const pixels = other();
        const found = a.pixels && pixels && subtraction(a.pixels, pixels);
        const signed = settings.get("difference") === "signed";
        const amplify = settings.number("amplify", 1);
        const layers = found
          ? [{ pixels: signed ? found.signed : found.absolute, look: { ...PLAIN, map: look.map, amplify } }]
          : [];
        return [{ slot: a, layers, error: a.error || b.error }];
      }
      default:
        throw new Error(`unknown comparison ${mode}`);
    }
  }

  function labelOf(slot, letter) {
    const at = slot.series && slot.point();
    return [
      make("b", {}, letter),
      runLabel(slot),
      make("span", { className: "dim" }, `${slot.tag} · step ${at ? step(at.step) : "?"}`),
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
    if (mode !== "difference" || !on.a().pixels || !b.pixels) on.computed(null);
    else if (result && resultOf) on.computed(result.stats);
  }

  /** An animation that this browser cannot take apart. */
  function playAsIs(box, slot) {
    if (box.querySelector("img") && box.querySelector("img").src === slot.url) return;
    box.replaceChildren(
      make("img", { src: slot.url, alt: `${slot.tag}, ${slot.run}` }),
      make(
        "span",
        { className: "dim" },
        "This browser plays animations as they are: frames and pixels need localhost or HTTPS.",
      ),
    );
  }

  // --- the divider -----------------------------------------------------------------------------------------

  function placeDivider() {
    const { stage } = panes[0];
    requestAnimationFrame(() => {
      if (!stage.canvas.isConnected || !on.a().pixels) return;
      const at = stage.corner();
      const share = settings.number("divider", 0.5);
      divider.style.left = (at.left + share * on.a().pixels.width * at.scale) / devicePixelRatio + "px";
      divider.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    });
  }

  function moveDivider(share) {
    settings.set({ divider: Math.round(Math.min(Math.max(share, 0), 1) * 1000) / 1000 });
    draw();
  }

  divider.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    divider.focus();
    divider.setPointerCapture(event.pointerId);
    divider.onpointermove = (moved) => {
      const at = panes[0].stage.corner();
      const x = (moved.clientX - panes[0].stage.canvas.getBoundingClientRect().left) * devicePixelRatio;
      moveDivider((x - at.left) / at.scale / on.a().pixels.width);
    };
    divider.onpointerup = divider.onpointercancel = () => (divider.onpointermove = null);
  });

  // --- blinking --------------------------------------------------------------------------------------------

  /** Starts or stops blinking, as the mode and its rate say. */
  function beat() {
    clearInterval(blinking);
    const rate = settings.number("blink", 2);
    blinking = built === "blink" && rate > 0 ? setInterval(() => ((second = !second), draw()), 1000 / rate) : 0;
  }

  /** By hand: the other one; it blinks no more by itself. */
  function swap() {
    settings.set({ blink: 0 });
    second = !second;
    beat();
    draw();
  }

  /** What is shown as one canvas in the picture's own pixels, for saving. */
  function whole() {
    const all = shown().map((pane) => pane.layers).filter((layers) => layers.length);
    if (!all.length) return null;
    const sizes = all.map((layers) => layers[0].pixels);
    const canvas = make("canvas", {
      width: sizes.reduce((sum, one) => sum + one.width, 0),
      height: Math.max(...sizes.map((one) => one.height)),
    });
    const context = canvas.getContext("2d");
    let left = 0;
    for (const layers of all) {
      for (const { pixels, look, from } of layers) {
        const start = from === undefined ? 0 : Math.min(Math.round(from * layers[0].pixels.width), pixels.width - 1);
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

  // Keys may come before the first picture.
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
    result: () => result,
    place: () => built === "swipe" && placeDivider(),
  };
}

export { makeViewer as viewer };
