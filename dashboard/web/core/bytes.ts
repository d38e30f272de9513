/** Numbers of bytes as text. */

/** For people; to the letter what `file_size` of dashboard/page/numbers.py writes. */
export function fileSize(size: number): string {
  if (size < 1000) return `${size} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let scaled = size / 1000;
  let at = 0;
  for (; scaled >= 999.5 && at < units.length - 1; at += 1) scaled /= 1000;
  return `${scaled >= 999.5 ? Math.round(scaled) : Number(scaled.toPrecision(3))} ${units[at]}`;
}

/** All of them. */
export const exactBytes = (size: number): string => `${size.toLocaleString("en-US")} ${size === 1 ? "byte" : "bytes"}`;
