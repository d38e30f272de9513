import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("timeline", "stepscopeTimeline", ["open"], () => import("./mount.ts"));
