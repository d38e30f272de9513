/** Small building blocks of the Timeline panel. */
import { make } from "../../../web/core/dom.ts";

export function button(text: string, title: string, action: () => void, className = ""): HTMLButtonElement {
  const made = make("button", { type: "button", className: `timeline-button ${className}`, title }, text);
  if (!/\w\w/.test(text)) made.setAttribute("aria-label", title);
  made.addEventListener("click", action);
  return made;
}

/** The 2D drawing context of a canvas. */
export function penOf(
  canvas: HTMLCanvasElement,
  settings?: CanvasRenderingContext2DSettings,
): CanvasRenderingContext2D {
  const pen = canvas.getContext("2d", settings);
  if (!pen) throw new Error("The browser cannot draw on a canvas.");
  return pen;
}
