import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("debugger", "stepscopeDebugger", ["show"], () => import("./mount.ts"));
