// Light, dark, or following the system. Mantine reads the same localStorage key before the first paint.
import { setProps } from "../core/dash.ts";
import { storage } from "../core/dom.ts";
import { popover } from "../core/popover.ts";

const KEY = "mantine-color-scheme-value";
const system = window.matchMedia("(prefers-color-scheme: dark)");

const CHOICES = [["light", "sun", "Light"], ["auto", "auto", "System"], ["dark", "moon", "Dark"]] as const;

const resolve = (choice: string) => (choice === "auto" ? (system.matches ? "dark" : "light") : choice);

export const theme = {
  chosen() {
    const stored = storage.get(KEY);
    return stored === "light" || stored === "dark" ? stored : "auto";
  },
  /** Switches between light and dark, whatever was chosen. */
  toggle() {
    const value = resolve(this.chosen()) === "dark" ? "light" : "dark";
    setProps("theme", { data: value });
  },
  /** Opens a menu of all three choices beside a button. */
  choose(anchor: HTMLElement) {
    const chosen = this.chosen();
    popover.menu(
      anchor,
      "Theme",
      CHOICES.map(([data, icon, text]) => ({
        text,
        icon,
        chosen: data === chosen,
        act: () => setProps("theme", { data }),
      })),
    );
  },
  /** Remembers the choice; returns the resulting scheme twice: for Mantine and for the charts. */
  apply(choice: string): [string, string] {
    storage.set(KEY, choice);
    const scheme = resolve(choice);
    document.documentElement.dataset.mantineColorScheme = scheme;
    document.documentElement.dataset.agThemeMode = scheme;
    const [, , text] = CHOICES.find(([value]) => value === choice) ?? CHOICES[1];
    const button = document.getElementById("theme-button");
    button?.setAttribute("data-choice", choice);
    button?.setAttribute("title", `Theme: ${text} (T)`);
    button?.setAttribute("aria-label", `Theme: ${text}`);
    return [scheme, scheme];
  },
};

document.documentElement.dataset.mantineColorScheme = resolve(theme.chosen());
system.addEventListener("change", () => {
  if (theme.chosen() !== "auto") return;
  const [scheme] = theme.apply("auto");
  setProps("mantine", { forceColorScheme: scheme });
  setProps("scheme", { data: scheme });
});
