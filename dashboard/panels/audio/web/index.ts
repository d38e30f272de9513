import { callbacksLater } from "../../../web/core/dash.ts";

callbacksLater("audio", "stepscope", ["drawAudio", "adjustAudio"], () => import("./mount.ts"));
