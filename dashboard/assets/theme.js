// Light, dark, or as the system has it. Mantine reads the same key of localStorage before the first paint.
(function () {
  "use strict";
  const scope = (window.stepscope = window.stepscope || {});
  const KEY = "mantine-color-scheme-value";
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  const resolve = (choice) => (choice === "auto" ? (system.matches ? "dark" : "light") : choice);

  scope.theme = {
    chosen() {
      const stored = window.stepscope.storage.get(KEY);
      return ["light", "dark"].includes(stored) ? stored : "auto";
    },
    /** From light to dark and back, whatever was chosen. */
    toggle() {
      const value = resolve(this.chosen()) === "dark" ? "light" : "dark";
      window.dash_clientside.set_props("theme", { value });
    },
    /** Remembers the choice; returns what the page has to become, twice: for Mantine and for the charts. */
    apply(choice) {
      window.stepscope.storage.set(KEY, choice);
      const scheme = resolve(choice);
      document.documentElement.dataset.mantineColorScheme = scheme;
      document.documentElement.dataset.agThemeMode = scheme;
      return [scheme, scheme];
    },
  };

  document.documentElement.dataset.mantineColorScheme = resolve(scope.theme.chosen());
  system.addEventListener("change", () => {
    if (scope.theme.chosen() !== "auto") return;
    const [scheme] = scope.theme.apply("auto");
    window.dash_clientside.set_props("mantine", { forceColorScheme: scheme });
    window.dash_clientside.set_props("scheme", { data: scheme });
  });
})();
