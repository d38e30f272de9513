/** Text on a canvas: how wide it is, and how much of it fits. */

const textWidths: Map<string, number> = new Map();
export const measure = (context: CanvasRenderingContext2D, text: string) => {
  const key = context.font + text;
  let width = textWidths.get(key);
  if (width === undefined) {
    if (textWidths.size > 20000) textWidths.clear();
    width = context.measureText(text).width;
    textWidths.set(key, width);
  }
  return width;
};

/** The longest beginning of a text that fits, with an ellipsis if the text is cut. */
export function fit(context: CanvasRenderingContext2D, text: string, room: number) {
  const full = measure(context, text);
  if (full <= room) return text;
  let keep = Math.floor((text.length * room) / full);
  while (keep > 0 && measure(context, `${text.slice(0, keep)}…`) > room) keep -= 1;
  return keep > 1 ? `${text.slice(0, keep)}…` : "";
}

/** The name shown in a slice: functions of C++ lose what says least, their return type, scopes and arguments. */
export function shortName(name: string): string {
  const signature = /^(?:void |(?=[^<(]*\w<))([^<(]+)/.exec(name.replaceAll("(anonymous namespace)::", ""));
  return signature?.[1].split("::").at(-1) || name;
}

let pen: CanvasRenderingContext2D | null = null;
/**
 * The width of a text in the page's font family.
 * @param font weight and size: "500 11px"
 */
export function pageTextWidth(text: string, font: string): number {
  pen ??= document.createElement("canvas").getContext("2d");
  if (!pen) return 0;
  pen.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  return measure(pen, text);
}
