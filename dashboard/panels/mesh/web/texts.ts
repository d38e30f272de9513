/** Texts and numbers for meshes, and the URL entries of their cards. */
import { counted, shortNumber } from "../../../web/core/numbers.ts";
import type { MeshHeader } from "./messages.generated.ts";

/** Formats a measured number with three digits. */
export const short = (value: number): string => shortNumber(value, 3);

/** What a mesh consists of, its extent, and how far it moved. */
export function facts({ vertices, faces, low, high, moved }: MeshHeader): string {
  if (vertices === undefined) return "";
  const parts = faces
    ? [counted(vertices, "vertex", "vertices"), counted(faces, "face")]
    : [counted(vertices, "point")];
  if (low && high) parts.push(low.map((least, i) => short(high[i] - least)).join(" × "));
  if (moved) parts.push(`moved ${short(Number(moved.mean))} on average, ${short(Number(moved.most))} at most`);
  return parts.join(" · ");
}

/** Whole numbers by key, from entries "KEY:NUMBER"; invalid entries are left out. */
export function numbersByKey(entries: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const entry of entries) {
    const at = entry.lastIndexOf(":");
    const value = Number(entry.slice(at + 1));
    if (at > 0 && Number.isSafeInteger(value)) found.set(entry.slice(0, at), value);
  }
  return found;
}
