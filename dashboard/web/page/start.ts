/** The page without its panels. */
import "./choosers.ts";
import "./commands.ts";
import "./connection.ts";
import "./plugins.ts";
import "./toolbars.ts";
import "../../curves/web/cards.ts";
import "../../runs/web/commands.ts";
import "../../runs/web/labels.ts";
import "../../runs/web/menu.ts";
import "../../runs/web/notes.ts";
import "../../runs/web/settings.ts";
import "../../runs/web/table.ts";
import "../cards/grid.ts";
import "../cards/plotly.ts";
import "../cards/step_slider.ts";

/** Start Dash, once all callbacks that the server refers to are registered. */
export const start = (): unknown => new window.DashRenderer();
