/** Mouse actions on a picture, and the values under the pointer. */
import * as scales from "./scales.ts";
import { moved, zoomed } from "./span.ts";
import { duration, type View } from "./view.ts";

/** A press that moves at least this many pixels is a drag. */
const DRAG = 5;

function valueAt(view: View, x: number, y: number): string {
  const { drawn } = view;
  if (!drawn) return "";
  const seconds = drawn.seconds(x);
  const time = scales.clock(seconds, (drawn.span.stop - drawn.span.start) / drawn.plot / 2);
  const lane = drawn.lanes.find((one) => y >= one.top && y < one.top + one.height);
  if (!lane || seconds > duration(view)) return time;
  const value = lane.kind === "wave" ? amplitudeAt(view, lane, seconds) : levelAt(view, lane, seconds, y);
  return [time, scales.channelName(lane.channel, drawn.channels), ...value].filter(Boolean).join(" · ");
}

/** The pixel column of a picture that contains a moment; null outside. */
function columnAt({ start, stop, width }: { start: number; stop: number; width: number }, seconds: number) {
  const column = Math.floor(((seconds - start) / (stop - start)) * width);
  return column >= 0 && column < width ? column : null;
}

function amplitudeAt({ waves }: View, lane: scales.WaveLane, seconds: number): string[] {
  const column = waves && columnAt(waves, seconds);
  if (!waves || column === null) return [];
  const place = 2 * (lane.channel * waves.width + column);
  const [low, high] = [waves.bounds[place], waves.bounds[place + 1]];
  if (Number.isNaN(low)) return ["NaN"];
  return [low === high ? low.toFixed(4) : `${low.toFixed(4)} to ${high.toFixed(4)}`];
}

function levelAt({ spectra, drawn }: View, lane: scales.SpectrumLane, seconds: number, y: number): string[] {
  const picture = spectra.get(lane.channel);
  const column = picture ? columnAt(picture, seconds) : null;
  if (!picture || !drawn || column === null) return [];
  const place = 1 - (y - lane.top) / lane.height;
  const row = Math.min(picture.height - 1, Math.floor((1 - place) * picture.height));
  const level = picture.levels[row * picture.width + column];
  return [
    scales.hertzText(scales.frequencyScale(drawn.rate, drawn.look.frequencies).hertz(place)),
    level ? `${(picture.top - (255 - level) / 2).toFixed(1)} dB` : `below ${picture.top - 127} dB`,
  ];
}

export function listen(view: View): void {
  const { element, box, readout, handlers } = view;
  let pressed: number | null = null;
  const place = (event: MouseEvent) => {
    const frame = element.getBoundingClientRect();
    return [Math.min(Math.max(event.clientX - frame.left, scales.GUTTER), frame.width), event.clientY - frame.top];
  };
  element.addEventListener("pointerdown", (event) => {
    if (event.button || !view.drawn) return;
    pressed = place(event)[0];
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    if (!view.drawn) return;
    const [x, y] = place(event);
    const isRight = x > element.clientWidth / 2;
    readout.hidden = false;
    readout.textContent = valueAt(view, x, y);
    readout.style.left = isRight ? "auto" : x + 12 + "px";
    readout.style.right = isRight ? element.clientWidth - x + 12 + "px" : "auto";
    readout.style.top = Math.max(0, y - 26) + "px";
    box.hidden = pressed === null || Math.abs(x - pressed) < DRAG;
    if (pressed === null) return;
    box.style.left = Math.min(x, pressed) + "px";
    box.style.width = Math.abs(x - pressed) + "px";
  });
  element.addEventListener("pointerup", (event) => {
    if (pressed === null || !view.drawn) return;
    const [x] = place(event);
    const [start, stop] = [view.drawn.seconds(Math.min(x, pressed)), view.drawn.seconds(Math.max(x, pressed))];
    if (Math.abs(x - pressed) >= DRAG) handlers.zoom({ start, stop });
    else if (start <= duration(view)) handlers.seek(start);
    pressed = null;
    box.hidden = true;
  });
  element.addEventListener("pointercancel", () => {
    pressed = null;
    box.hidden = true;
  });
  element.addEventListener("pointerleave", () => (readout.hidden = true));
  element.addEventListener("dblclick", () => handlers.zoom(null));
  element.addEventListener(
    "wheel",
    (event) => {
      if (!view.drawn || !(event.ctrlKey || event.shiftKey)) return;
      event.preventDefault();
      const direction = Math.sign(event.deltaY || event.deltaX);
      if (!event.ctrlKey) handlers.zoom(moved(view.span, direction * 0.1));
      else handlers.zoom(zoomed(view.span, view.drawn.seconds(place(event)[0]), 1.3 ** direction));
    },
    { passive: false },
  );
}
