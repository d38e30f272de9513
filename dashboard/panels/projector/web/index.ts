import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("projector", "stepscopeProjector", ["open", "welcome", "refresh"], () => import("./mount.ts"));
