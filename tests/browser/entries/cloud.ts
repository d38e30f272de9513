// The cloud of the Projector without the panel.
import * as camera from "../../../dashboard/panels/projector/web/camera.ts";
import * as labels from "../../../dashboard/panels/projector/web/labels.ts";
import * as lasso from "../../../dashboard/panels/projector/web/lasso.ts";
import { Grid } from "../../../dashboard/panels/projector/web/pick.ts";
import { cutLine } from "../../../dashboard/panels/projector/web/raster.ts";
import { createView, frameOf } from "../../../dashboard/panels/projector/web/view.ts";

window.stepscope = { projector: { Grid, camera, createView, cutLine, frameOf, labels, lasso } };
