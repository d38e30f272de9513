// What the user sees, as URL parameters: the store "view" and the address bar hold the same query string.
// Python's side of it is dashboard/state.py.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});

  /** @type {string} */
  let current = "";
  /** @type {Object<string, string[]>} */
  let defaults = {};
  /** @type {Object<string, number>} */
  const settling = {};

  /** Query string with what is harmless in a query left readable: to the letter what `state.encode` writes. */
  function readable(params) {
    const kept = { "%2F": "/", "%3A": ":", "%2C": ",", "%7C": "|", "%28": "(", "%29": ")", "+": "%20", "%7E": "~" };
    return params.toString().replace(/%(?:2F|3A|2C|7C|28|29|7E)|\+/g, (escape) => kept[escape]);
  }

  /** Writes the address bar and returns the new query string. */
  function remember(params) {
    current = readable(params);
    const url = location.pathname + (current ? "?" + current : "") + location.hash;
    history.replaceState(history.state, "", url);
    return current;
  }

  function sameValues(one, other) {
    return one.length === other.length && one.every((value, index) => value === other[index]);
  }

  /** Sets a parameter, or removes it where that is its default. */
  function assign(params, name, values) {
    if (sameValues(params.getAll(name), values)) return;
    params.delete(name);
    if (!sameValues(values, defaults[name] || [])) values.forEach((value) => params.append(name, value));
  }

  scope.view = {
    /** The parameters as they are now; changing them changes nothing until `update`. */
    params: () => new URLSearchParams(current),
    /** All values of a parameter, its default where it is absent. */
    values(name) {
      const found = new URLSearchParams(current).getAll(name);
      return found.length ? found : defaults[name] || [];
    },
    /**
     * Changes the view: `change` gets the parameters and a function (name, values) that sets one.
     * @param {(params: URLSearchParams, assign: (name: string, values: string[]) => void) => void} change
     */
    update(change) {
      const params = new URLSearchParams(current);
      const before = current;
      change(params, (name, values) => assign(params, name, values));
      if (remember(params) !== before) window.dash_clientside.set_props("view", { data: current });
    },
    /** Adds `value` to a list parameter or takes it out. */
    toggle(name, value, on) {
      this.update((params, set) => {
        const rest = params.getAll(name).filter((entry) => entry !== value);
        set(name, on ? [...rest, value] : rest);
      });
    },
  };

  const clientside = {
    /** The page begins: takes the view from the address bar. */
    boot(values) {
      defaults = values || {};
      current = location.search.replace(/^\?/, "");
      scope.live.start();
      return [current, new URLSearchParams(current).get("run_filter") || "", scope.theme.chosen()];
    },
    /** Controls -> URL. Only what the user touched is written, so that controls being mounted change nothing. */
    collect(_values, _checked, openPanel) {
      const context = window.dash_clientside.callback_context;
      const params = new URLSearchParams(current);
      for (const trigger of context.triggered) {
        const at = trigger.prop_id.lastIndexOf(".");
        let name;
        try {
          name = JSON.parse(trigger.prop_id.slice(0, at)).name.replace(":", ".");
        } catch {
          continue;
        }
        if (trigger.value === undefined || trigger.value === null) continue;
        const value = typeof trigger.value === "boolean" ? (trigger.value ? "on" : "off") : String(trigger.value);
        if (name === "tab") {
          // The server opens a tab too, when the URL names none; only the user's choice goes into the URL.
          if (value !== openPanel) params.set("tab", value);
        } else if (typeof trigger.value === "number") {
          // A slider under the hand: what it passes on the way is not drawn.
          clearTimeout(settling[name]);
          settling[name] = setTimeout(() => scope.view.update((_params, set) => set(name, [value])), 80);
        } else if (value === "") params.delete(name);
        else assign(params, name, [value]);
      }
      const before = current;
      return remember(params) === before ? window.dash_clientside.no_update : current;
    },
    /**
     * View, revision and scheme -> the stores of the open panel; what it knows already is not told again. Runs when a
     * panel has been mounted too, since any of the three may have changed while it was on its way.
     */
    tellPanel(view, revision, scheme, _children, views, revisions, schemes) {
      const news = (value, known) => known.map((old) => (old === value ? window.dash_clientside.no_update : value));
      return [news(view, views), news(revision ?? null, revisions), news(scheme ?? null, schemes)];
    },
    applyTheme(choice) {
      return scope.theme.apply(choice);
    },
  };
  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    stepscope: Object.assign({}, (window.dash_clientside || {}).stepscope, clientside),
  });
})();
