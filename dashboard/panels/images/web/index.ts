import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("images", "stepscope", ["drawImages", "resetAdjustments", "adjustImages"], () => import("./mount.ts"));
