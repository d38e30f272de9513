// Light, dark, or as the system has it. Mantine reads the same key of localStorage before the first paint.
import { storage } from "../core/dom.js";

const KEY = "mantine-color-scheme-value";
const system = window.matchMedia("(prefers-color-scheme: dark)");

const resolve = (choice) => (choice === "auto" ? (system.matches ? "dark" : "light") : choice);

export const theme = {
  chosen() {
    const stored = storage.get(KEY);
    return ["light", "dark"].includes(stored) ? stored : "auto";
  },
  /** From light to dark and back, whatever was chosen. */
  toggle() {
    const value = resolve(this.chosen()) === "dark" ? "light" : "dark";
    window.dash_clientside.set_props("theme", { value });
  },
  /** Remembers the choice; returns what the page has to become, twice: for Mantine and for the charts. */
  apply(choice) {
    storage.set(KEY, choice);
    const scheme = resolve(choice);
    document.documentElement.dataset.mantineColorScheme = scheme;
    document.documentElement.dataset.agThemeMode = scheme;
    return [scheme, scheme];
  },
};

document.documentElement.dataset.mantineColorScheme = resolve(theme.chosen());
system.addEventListener("change", () => {
  if (theme.chosen() !== "auto") return;
  const [scheme] = theme.apply("auto");
  window.dash_clientside.set_props("mantine", { forceColorScheme: scheme });
  window.dash_clientside.set_props("scheme", { data: scheme });
});
