/** Settings of plug-ins' panels, as described by the server. */
import { choice, flag, names, number, type Setting, text } from "../core/setting.ts";
import type { SettingFacts } from "./messages.generated.ts";

/** The setting declared in Python. */
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

/** A setting's value from a plug-in, as the page keeps it: the default if the setting does not accept it. */
export function accepted(setting: Setting<unknown>, value: unknown): unknown {
  const given = Array.isArray(value)
    ? value.map(String)
    : [typeof value === "boolean" ? (value ? "on" : "off") : String(value)];
  return setting.parse(given);
}
