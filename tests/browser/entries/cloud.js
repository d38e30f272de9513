// The cloud of the Projector without the panel.
import * as camera from "../../../dashboard/panels/projector/web/camera.js";
import * as labels from "../../../dashboard/panels/projector/web/labels.js";
import * as lasso from "../../../dashboard/panels/projector/web/lasso.js";
import { Grid } from "../../../dashboard/panels/projector/web/pick.js";
import { cutLine } from "../../../dashboard/panels/projector/web/raster.js";
import { createView, frameOf } from "../../../dashboard/panels/projector/web/view.js";

window.stepscope = { projector: { Grid, camera, createView, cutLine, frameOf, labels, lasso } };
