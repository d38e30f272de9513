// @ts-nocheck
// The images panel: the shown pictures in one ZIP file.
import * as gallery from "./index.ts";
import { elements } from "../../../web/core/dom.ts";

const { make } = elements;

/** Hands a file to the browser. */
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A name that every file system takes. */
export const fileName = (text) => text.replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 120) || "picture";

async function zip(button) {
  const shown = gallery.shown();
  if (!shown.length) return;
  const before = button.title;
  button.disabled = true;
  button.classList.add("busy");
  button.title = `Packing ${shown.length} pictures`;
  try {
    const body = JSON.stringify(
      shown.map(({ run, tag, point, sample }) => [run, tag, point.index, point.step, sample]),
    );
    const answer = await fetch("/api/images/zip", { method: "POST", body });
    if (!answer.ok) throw new Error((await answer.json()).detail);
    save(await answer.blob(), "images.zip");
    button.classList.remove("failed");
    button.title = before;
  } catch (error) {
    button.classList.add("failed");
    button.title = `No ZIP file: ${error.message}`;
  } finally {
    button.disabled = false;
    button.classList.remove("busy");
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest && event.target.closest("#images-zip");
  if (button) zip(button);
});
