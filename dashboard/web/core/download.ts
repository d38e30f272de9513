/** Saves content made by the page, or fetched from an address, as a file for the user. */

/** Maximum length of a file's name without its ending, in characters, each of which may take three bytes of 255. */
const LONGEST_NAME = 80;

/** As long as a browser may take to ask where to save a file. */
const KEPT_MS = 60_000;

/** Saves the content at an address. */
export function save(href: string, name: string): void {
  const link = document.createElement("a");
  link.href = href;
  link.download = name;
  link.click();
}

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  save(url, name);
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

export const saveText = (text: string, name: string, type = "text/plain"): void =>
  saveBlob(new Blob([text], { type }), name);

/** A name that every file system accepts, with letters of any language; dashboard/server/headers.py has the same rule. */
export function fileName(text: string, otherwise: string): string {
  const kept = text.replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, "_");
  return /[^_]/.test(kept) ? [...kept].slice(0, LONGEST_NAME).join("") : otherwise;
}
