/** Saves content made by the page, or fetched from an address, as a file for the user. */

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
