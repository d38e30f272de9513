/** The page without its panels. */
import "../../curves/web/actions.ts";
import "../../curves/web/exact.ts";
import "../../curves/web/marks_table.ts";
import "../../curves/web/model.ts";
import "../../curves/web/profiled_steps.ts";
import "../../curves/web/table.ts";
import "../../runs/web/labels.ts";
import "../../runs/web/menu.ts";
import "../../runs/web/settings.ts";
import "../../runs/web/table.ts";
import "../cards/grid.ts";
import "../cards/plotly.ts";
import "../core/step_slider.ts";
import "./commands.ts";

declare global {
  interface Window {
    DashRenderer: new () => unknown;
  }
}

/** Begin, once all callbacks that the server names are registered. */
export const start = (): unknown => new window.DashRenderer();
