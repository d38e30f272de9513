/** The panel's current settings; those the user is changing are written to the URL after a pause. */
import { setProps, settingId } from "../../../web/core/dash.ts";
import type { Setting } from "../../../web/core/setting.ts";
import { view } from "../../../web/page/view.ts";
import { settings } from "./settings.generated.ts";

const WRITE_MS = 120;
/** Settings with a control above the galleries, which is moved so that it shows the current value. */
const WITH_CONTROL: ReadonlySet<string> = new Set([settings.brightness.name, settings.contrast.name]);
/** Values that are not in the URL yet. */
const pending: Map<string, string[]> = new Map();
let writing = 0;

export function read<T>(setting: Setting<T>): T {
  const news = pending.get(setting.name);
  return news ? setting.parse(news) : view.read(setting);
}

function writeUrl(): void {
  clearTimeout(writing);
  if (!pending.size) return;
  const news = [...pending];
  pending.clear();
  view.update((_params, set) => news.forEach(([name, values]) => set(name, values)));
}

function put(name: string, values: string[], value: unknown): void {
  pending.set(name, values);
  if (WITH_CONTROL.has(name)) setProps(settingId(name), { value });
  clearTimeout(writing);
  writing = window.setTimeout(writeUrl, WRITE_MS);
}

export const write = <T>(setting: Setting<T>, value: NoInfer<T>): void =>
  put(setting.name, setting.format(value), value);

/** Resets settings to their defaults. */
export function reset(...all: readonly { name: string; default: unknown }[]): void {
  for (const setting of all) put(setting.name, [], setting.default);
}

// What is on its way belongs to the view before.
addEventListener("popstate", () => {
  clearTimeout(writing);
  pending.clear();
});
