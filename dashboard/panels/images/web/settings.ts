// @ts-nocheck
// The images panel: its settings in the URL (dashboard/panels/images/settings.py).
import { view } from "../../../web/page/view.ts";

const WRITE_MS = 120;
/** Settings that have a control above the galleries, which is moved instead, so that it shows what is so. */
const WITH_CONTROL = new Set(["brightness", "contrast"]);
/** Values that are not in the URL yet. */
const pending: Map<string, string[]> = new Map();
let writing = 0;

/** All values of a setting. */
export const all = (name): string[] => pending.get(name) || view.values("images." + name);
export const get = (name) => all(name)[0] ?? "";
export const on = (name) => get(name) === "on";

export function number(name, fallback) {
  const value = Number(get(name) || NaN);
  return Number.isFinite(value) ? value : fallback;
}

export function write() {
  clearTimeout(writing);
  writing = 0;
  if (!pending.size) return;
  const news = [...pending];
  pending.clear();
  view.update((_params, set) => news.forEach(([name, values]) => set("images." + name, values)));
}

/** Sets settings, `{name: value or values}`; the URL is written once a hand rests. */
export function set(changes) {
  for (const [name, value] of Object.entries(changes)) {
    pending.set(name, Array.isArray(value) ? value.map(String) : [String(value)]);
    if (WITH_CONTROL.has(name)) {
      window.dash_clientside.set_props({ type: "setting", name: "images:" + name }, { value: Number(value) });
    }
  }
  clearTimeout(writing);
  writing = setTimeout(write, WRITE_MS);
}
