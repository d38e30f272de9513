// The frame: run list, sidebar, buttons of the header.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const WIDTH_KEY = "stepscope-sidebar";
  const HIDDEN_KEY = "stepscope-sidebar-hidden";
  const h = (...args) => window.React.createElement(...args);

  // --- the run list ------------------------------------------------------------------------------------------

  /** The rows that the filter lets through, in the order of the server. */
  function rows() {
    const found = [];
    const api = window.dash_ag_grid && window.dash_ag_grid.getApi("runs-grid");
    if (api) api.forEachNode((node) => found.push(node.data));
    return found;
  }

  /** Switches runs on or off: each is an exception from the base "runs", kept only where it differs. */
  function switchRuns(changed, on) {
    scope.view.update((params, set) => {
      const show = new Set(params.getAll("show"));
      const hide = new Set(params.getAll("hide"));
      for (const row of changed) {
        show.delete(row.run);
        hide.delete(row.run);
        if (on && !row.base) show.add(row.run);
        if (!on && row.base) hide.add(row.run);
      }
      set("show", [...show]);
      set("hide", [...hide]);
    });
  }

  function switchAll(on) {
    if (scope.view.params().get("run_filter")) return switchRuns(rows(), on);
    scope.view.update((params, set) => {
      set("runs", [on ? "all" : "none"]);
      set("show", []);
      set("hide", []);
    });
  }

  function only(run) {
    scope.view.update((params, set) => {
      set("runs", ["none"]);
      set("hide", []);
      set("show", [run]);
    });
  }

  function RunSwatch(props) {
    const row = props.data;
    return h("button", {
      className: "swatch",
      role: "checkbox",
      "aria-checked": props.value ? "true" : "false",
      "aria-label": "Show " + row.run,
      style: { "--light": row.light, "--dark": row.dark },
      onClick: (event) => {
        event.currentTarget.setAttribute("aria-checked", props.value ? "false" : "true");
        switchRuns([row], !props.value);
      },
    });
  }

  function RunName(props) {
    const run = props.value;
    const cut = run.lastIndexOf("/") + 1;
    return h(
      "div",
      { className: "run-name", onDoubleClick: () => only(run) },
      cut ? h("span", { className: "dim" }, run.slice(0, cut)) : null,
      h("span", { className: "leaf" }, run === "." ? ". (the log directory)" : run.slice(cut)),
      h("button", { className: "only", title: "Only this run (or double click)", onClick: () => only(run) }, "only"),
    );
  }

  const renderers = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  renderers.RunSwatch = RunSwatch;
  renderers.RunName = RunName;

  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  functions.stepscopeGridTheme = (theme, agGrid) =>
    theme.withParams({
      backgroundColor: "transparent",
      foregroundColor: "var(--ink)",
      textColor: "var(--ink)",
      headerTextColor: "var(--ink-dim)",
      headerBackgroundColor: "transparent",
      borderColor: "var(--line)",
      rowBorder: false,
      wrapperBorder: false,
      wrapperBorderRadius: 0,
      rowHoverColor: "var(--hover)",
      selectedRowBackgroundColor: "var(--hover)",
      accentColor: "var(--accent)",
      fontSize: 12.5,
      headerFontSize: 11,
      headerFontWeight: 500,
      cellHorizontalPadding: 8,
      headerColumnResizeHandleColor: "transparent",
      fontFamily: "inherit",
    });

  const AGES = [[86400 * 365, "y"], [86400, "d"], [3600, "h"], [60, "min"]];
  /** How long ago: "3 h ago". */
  functions.stepscopeWhen = (seconds) => {
    if (!Number.isFinite(seconds)) return "";
    const age = Date.now() / 1000 - seconds;
    const [size, unit] = AGES.find(([size]) => age >= size) || [1, "s"];
    return age < 60 ? "now" : `${Math.floor(age / size)} ${unit} ago`;
  };
  functions.stepscopeWhenLong = (seconds) =>
    Number.isFinite(seconds) ? "First event " + new Date(seconds * 1000).toLocaleString() : "";

  // --- sidebar -----------------------------------------------------------------------------------------------

  function setWidth(width) {
    const value = Math.min(Math.max(width, 180), Math.max(240, innerWidth * 0.6));
    document.documentElement.style.setProperty("--sidebar", value + "px");
    localStorage.setItem(WIDTH_KEY, String(value));
  }

  function dragSidebar(event) {
    const grip = event.target;
    grip.setPointerCapture(event.pointerId);
    document.body.classList.add("resizing");
    grip.onpointermove = (move) => setWidth(move.clientX);
    grip.onpointerup = () => {
      grip.onpointermove = grip.onpointerup = null;
      document.body.classList.remove("resizing");
      dispatchEvent(new Event("resize"));
    };
  }

  function hideSidebar(hidden) {
    document.documentElement.classList.toggle("no-sidebar", hidden);
    localStorage.setItem(HIDDEN_KEY, hidden ? "1" : "");
    dispatchEvent(new Event("resize"));
  }

  if (localStorage.getItem(WIDTH_KEY)) setWidth(Number(localStorage.getItem(WIDTH_KEY)) || 280);
  if (localStorage.getItem(HIDDEN_KEY)) document.documentElement.classList.add("no-sidebar");

  document.addEventListener("pointerdown", (event) => {
    if (event.target.id === "sidebar-grip") dragSidebar(event);
  });
  document.addEventListener("dblclick", (event) => {
    if (event.target.id === "sidebar-grip") setWidth(280);
  });
  // The grid gives the focus to its cells, not to the buttons in them.
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    const button = event.target.matches(".run-grid .ag-cell") && event.target.querySelector("button");
    if (!button) return;
    event.preventDefault();
    button.click();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button");
    if (!button) return;
    if (button.id === "runs-all") switchAll(true);
    if (button.id === "runs-none") switchAll(false);
    if (button.id === "live") scope.live.togglePause();
    if (button.id === "sidebar-toggle") hideSidebar(!document.documentElement.classList.contains("no-sidebar"));
  });
})();
