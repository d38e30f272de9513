import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("graph", "stepscopeGraph", ["open"], () => import("./mount.ts"));
