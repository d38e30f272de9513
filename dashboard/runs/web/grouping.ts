/** How runs are grouped, according to the setting. */

export type Mode = "none" | "seeds" | "path" | "hparams" | "regex";

export function grouping([first]: readonly string[]): Mode {
  if (!first) return "none";
  if (first === "seeds") return "seeds";
  if (first.startsWith("path:")) return "path";
  return first.startsWith("regex:") ? "regex" : "hparams";
}

/** The text after "path:" or "regex:", if runs are grouped that way. */
export const detailOf = (specs: readonly string[], mode: "path" | "regex"): string | undefined =>
  specs.find((spec) => spec.startsWith(`${mode}:`))?.slice(mode.length + 1);
