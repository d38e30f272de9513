import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("graph", "stepscopeGraph", ["open", "listed"], () => import("./mount.ts"));
