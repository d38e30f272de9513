import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("mesh", "stepscope", ["drawMeshes", "adjustMeshes", "offerComparisons"], () => import("./mount.ts"));
