import { within } from "../../../web/core/dom.ts";

document.addEventListener("click", async (event) => {
  if (within(event, ".act-layout")) await (await import("./editor.ts")).open();
});
