/** Formatting of numbers and names in the Graph panel. */

const scaled = (value: number, base: number, units: readonly string[]) => {
  let at = 0;
  let rest = Math.abs(value);
  while (rest >= base * 0.9995 && at < units.length - 1) {
    rest /= base;
    at += 1;
  }
  const digits = at === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${value < 0 ? "−" : ""}${rest.toFixed(digits)}${units[at] ? ` ${units[at]}` : ""}`;
};

export const format = {
  /** 1 234 567 as "1.23 M". */
  amount: (value: number) => scaled(value, 1000, ["", "k", "M", "G", "T", "P"]),
  flops: (value: number) =>
    `${scaled(value, 1000, ["", "k", "M", "G", "T", "P"])}FLOP`.replace(/^(\S+)FLOP$/, "$1 FLOP"),
  /** A name without its scopes. */
  last: (id: string) => id.slice(id.lastIndexOf("/") + 1) || id,
};
