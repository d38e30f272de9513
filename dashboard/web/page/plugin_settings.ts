/** Settings of plug-ins' panels, as the server tells of them. */
import { choice, flag, names, number, type Setting, text } from "../core/setting.ts";
import type { SettingFacts } from "./messages.generated.ts";

/** The setting that Python declares. */
export function settingOf({ name, kind, values, options, limits }: SettingFacts): Setting<unknown> {
  const value = values[0] ?? "";
  switch (kind) {
    case "flag":
      return flag(name, value === "on") as Setting<unknown>;
    case "choice":
      return choice(name, value, options) as Setting<unknown>;
    case "number":
      return number(name, Number(value), ...(limits ?? [-Infinity, Infinity])) as Setting<unknown>;
    case "names":
      return names(name) as Setting<unknown>;
    default:
      return text(name, value) as Setting<unknown>;
  }
}

/** A value that a plug-in gives a setting, as the page keeps it: its default where the setting does not take it. */
export function accepted(setting: Setting<unknown>, value: unknown): unknown {
  const given = Array.isArray(value)
    ? value.map(String)
    : [typeof value === "boolean" ? (value ? "on" : "off") : String(value)];
  return setting.parse(given);
}
