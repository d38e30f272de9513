import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("timeline", "stepscopeTimeline", ["open", "listed"], () => import("./mount.ts"));
