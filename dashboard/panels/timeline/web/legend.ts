/** The legend above the lanes that explains the slice colors. */
import { make } from "../../../web/core/dom.ts";
import type { Legend } from "./colors.ts";
import type { Theme } from "./theme.ts";

export function show(
  host: HTMLElement,
  theme: Theme,
  legend: Legend,
) {
  const key = JSON.stringify([legend, theme.dark]);
  if (host.dataset.key === key) return;
  host.dataset.key = key;
  const parts: Node[] = [];
  if (legend.ramp) {
    const bar = make("span", { className: "timeline-legend-ramp" });
    bar.style.background = `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(theme.ramp).join(",")})`;
    parts.push(make("span", null, legend.ramp[0]), bar, make("span", null, legend.ramp[1]));
  }
  for (const [color, word] of legend.entries || []) {
    const swatch = make("span", { className: "timeline-swatch small" });
    swatch.style.background = color;
    parts.push(make("span", { className: "timeline-legend-entry" }, swatch, word));
  }
  host.replaceChildren(...parts);
  host.style.display = parts.length ? "flex" : "none";
}
