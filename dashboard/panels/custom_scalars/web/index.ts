import { within } from "../../../web/core/dom.ts";
import { had } from "../../../web/core/lost_scripts.ts";

document.addEventListener("click", async (event) => {
  if (within(event, ".act-layout")) await (await had(import("./editor.ts"))).open();
});
