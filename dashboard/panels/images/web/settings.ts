/** The panel's settings in the URL (dashboard/panels/images/settings.py). */
import { setProps, settingId } from "../../../web/core/dash.ts";
import { view } from "../../../web/page/view.ts";

const WRITE_MS = 120;
/** Settings that have a control above the galleries, which is moved instead, so that it shows what is so. */
const WITH_CONTROL = new Set(["brightness", "contrast"]);
/** Values that are not in the URL yet. */
const pending: Map<string, string[]> = new Map();
let writing = 0;

type Value = string | number;

/** All values of a setting. */
export const all = (name: string): string[] => pending.get(name) ?? view.values("images." + name);
export const get = (name: string): string => all(name)[0] ?? "";
export const on = (name: string): boolean => get(name) === "on";

export function number(name: string, fallback: number): number {
  const value = Number(get(name) || NaN);
  return Number.isFinite(value) ? value : fallback;
}

/** One of the names of options, the first where the URL has another. */
export function choice<Name extends string>(name: string, options: Readonly<Record<Name, unknown>>): Name {
  const names = Object.keys(options) as Name[];
  return names.find((one) => one === get(name)) ?? names[0];
}

function write(): void {
  clearTimeout(writing);
  if (!pending.size) return;
  const news = [...pending];
  pending.clear();
  view.update((_params, set) => news.forEach(([name, values]) => set("images." + name, values)));
}

/** Sets settings, `{name: value or values}`; the URL is written once a hand rests. */
export function set(changes: Record<string, Value | readonly Value[]>): void {
  for (const [name, value] of Object.entries(changes)) {
    pending.set(name, [value].flat().map(String));
    if (WITH_CONTROL.has(name)) setProps(settingId("images." + name), { value: Number(value) });
  }
  clearTimeout(writing);
  writing = window.setTimeout(write, WRITE_MS);
}
