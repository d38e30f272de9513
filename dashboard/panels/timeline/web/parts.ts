/** Small parts that the Timeline panel is made of. */
import { make } from "../../../web/core/dom.ts";

export function button(text: string, title: string, action: () => void, className = ""): HTMLButtonElement {
  const props = { type: "button", className: `timeline-button ${className}`, title, "aria-label": title };
  const made = make("button", props, text);
  made.addEventListener("click", action);
  return made;
}

/** What draws on a canvas. */
export function penOf(
  canvas: HTMLCanvasElement,
  settings?: CanvasRenderingContext2DSettings,
): CanvasRenderingContext2D {
  const pen = canvas.getContext("2d", settings);
  if (!pen) throw new Error("This browser gives no canvas to draw on.");
  return pen;
}
