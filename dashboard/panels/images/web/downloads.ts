/** Downloads the visible pictures in one ZIP file. */
import { saveBlob } from "../../../web/core/download.ts";
import { messageOf } from "../../../web/core/request.ts";
import { api, type Wanted } from "./pictures.ts";

export async function zip(button: HTMLButtonElement, shown: readonly Wanted[]): Promise<void> {
  if (!shown.length) return;
  const before = button.title;
  button.disabled = true;
  button.classList.add("busy");
  button.title = `Packing ${shown.length} images`;
  try {
    const body = shown.map(({ run, tag, point, sample }) => [run, tag, point.index, point.step, sample]);
    const answer = await api.response("zip", {}, { body });
    saveBlob(await answer.blob(), "images.zip");
    button.classList.remove("failed");
    button.title = before;
  } catch (error) {
    button.classList.add("failed");
    button.title = `The ZIP file could not be created: ${messageOf(error)}`;
  } finally {
    button.disabled = false;
    button.classList.remove("busy");
  }
}
