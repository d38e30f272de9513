// The cloud of the Projector without the panel.
import { Labels } from "../../../dashboard/panels/projector/web/labels.ts";
import { createView } from "../../../dashboard/panels/projector/web/view.ts";

Object.assign(window, { stepscope: { projector: { createView, Labels } } });
