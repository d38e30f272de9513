// The menu of a run: only, hide, pin, another name, another colour.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const make = (...args) => scope.elements.make(...args);

  const dark = () => document.documentElement.dataset.mantineColorScheme === "dark";

  /** The row of the menu with the colour: the system's own chooser, and back to the colour that it had. */
  function colorEntry(item) {
    const input = make("input", { type: "color", value: dark() ? item.dark : item.light, role: "menuitem", "aria-label": "Colour of " + item.label });
    let waiting = 0;
    const give = () => {
      clearTimeout(waiting);
      if (input.value !== scope.runs.given("runs.paint", item.run)) scope.runs.give("runs.paint", item.run, input.value);
    };
    // While the chooser is open the colour changes with every movement of the hand.
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(give, 150);
    });
    input.addEventListener("change", give);
    const reset = make("button", { className: "quiet", role: "menuitem", title: "Back to the colour it had", disabled: !scope.runs.given("runs.paint", item.run) }, "Reset");
    reset.addEventListener("click", () => {
      scope.popover.close();
      scope.runs.give("runs.paint", item.run, "");
    });
    return make("div", { className: "menu-color" }, make("label", {}, "Colour ", input), reset);
  }

  /**
   * @param {any} item a row of the table
   * @param {HTMLElement} anchor
   * @param {{left: number, top: number, bottom: number}} [at]
   */
  function open(item, anchor, at) {
    // The anchor may be drawn anew while the menu is open.
    const place = at || anchor.getBoundingClientRect();
    const on = scope.runs.isOn(item);
    const pinned = scope.runs.isPinned(item.run);
    const group = scope.runs.around().groups[item.group];
    /** @type {any[]} */
    const entries = [
      ["Only this run", () => scope.runs.only([item.run])],
      [on ? "Hide" : "Show", () => scope.runs.switchRuns([item], !on)],
      [pinned ? "Unpin" : "Pin to the top", () => scope.runs.pin(item.run, !pinned)],
      ["Rename for display…", () => rename(item, anchor, place)],
      ["Copy name", () => scope.elements.toClipboard(item.run).then(() => scope.frame.say("Name copied"))],
    ];
    if (group) {
      const members = () => [...scope.runs.rows.values()].filter((row) => row.group === item.group).map((row) => row.run);
      entries.push(["Select the group", () => scope.runs.select(members())]);
      entries.push(["Only this group", () => scope.runs.only(members())]);
    }
    entries.push(colorEntry(item));
    scope.popover.menu(anchor, "Run " + item.label, entries, at);
  }

  /** A field for the name that a run has on the screen; an empty one gives it its own name back. */
  function rename(item, anchor, at) {
    const input = make("input", { type: "text", value: scope.runs.given("runs.name", item.run) || item.run, maxLength: 200, className: "text-field", "aria-label": "Name on the screen of " + item.run, spellcheck: false });
    const save = () => {
      const text = input.value.trim();
      scope.popover.close();
      scope.runs.give("runs.name", item.run, text === item.run ? "" : text);
    };
    input.addEventListener("keydown", (event) => event.key === "Enter" && save());
    const done = make("button", { className: "primary" }, "Rename");
    done.addEventListener("click", save);
    const hint = make("p", { className: "hint" }, "Only on this page and in its link; leave it empty for the run's own name.");
    scope.popover.show(anchor, "Rename", [make("div", { className: "row" }, input, done), hint], { className: "rename", at });
    input.select();
  }

  scope.runMenu = { open, rename };
})();
