/** How runs are grouped, as the setting has it. */

export type Mode = "none" | "seeds" | "path" | "hparams" | "regex";

export function grouping([first]: readonly string[]): Mode {
  if (!first) return "none";
  if (first === "seeds") return "seeds";
  if (first.startsWith("path:")) return "path";
  return first.startsWith("regex:") ? "regex" : "hparams";
}

/** What stands behind "path:" or "regex:", where that is how runs are grouped. */
export const detailOf = (specs: readonly string[], mode: "path" | "regex"): string | undefined =>
  specs.find((spec) => spec.startsWith(`${mode}:`))?.slice(mode.length + 1);
