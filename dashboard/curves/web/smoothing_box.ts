// The number field for the smoothing, beside its slider.
import { bind } from "../../web/core/commands.ts";
import { setProps, settingId } from "../../web/core/dash.ts";
import { make } from "../../web/core/dom.ts";
import { MOST_SMOOTHING } from "./entries.ts";

const FINE = 0.01;
const COARSE = 0.1;

/** A smoothing as displayed: at most three decimal places. */
export const rounded = (value: number): number =>
  Math.round(Math.min(Math.max(value, 0), MOST_SMOOTHING) * 1000) / 1000;

/** Makes a field for a smoothing; arrow keys change it in fine steps, Page Up and Page Down in coarse ones. */
export function smoothingField(label: string, choose: (value: number) => void): HTMLInputElement {
  const field = make("input", { type: "number", min: 0, max: MOST_SMOOTHING, step: "any", "aria-label": label });
  const by = (change: number) => () => {
    const value = rounded((Number(field.value) || 0) + change);
    field.value = String(value);
    choose(value);
  };
  bind(field, { ArrowUp: by(FINE), ArrowDown: by(-FINE), PageUp: by(COARSE), PageDown: by(-COARSE) });
  field.addEventListener("change", () => {
    if (field.value === "" || Number.isNaN(field.valueAsNumber)) return;
    field.value = String(rounded(field.valueAsNumber));
    choose(Number(field.value));
  });
  return field;
}

/** The value that was sent to the slider and that it does not show yet. */
let awaited: number | null = null;

/** The value the user sets with the slider; null while the slider only follows the field, which may be ahead of it. */
export function saidBySlider(thumb: Element): number | null {
  const value = Number(thumb.getAttribute("aria-valuenow"));
  const isFollowing = awaited !== null && !thumb.closest(".smoothing")?.matches(":active, :focus-within");
  if (!isFollowing || value === awaited) awaited = null;
  return isFollowing ? null : value;
}

const fieldIn = (place: Element | null) => place?.querySelector<HTMLInputElement>("input") ?? null;

/** Puts the field for all cards in its place in the toolbar, and makes it show the smoothing. */
export function sayWeight(weight: number, name: string, choose: (value: number) => void): void {
  const place = document.querySelector(".smoothing-value");
  if (!place) return;
  let field = fieldIn(place);
  if (!field) {
    field = smoothingField("Smoothing, as a number", (value) => {
      awaited = value;
      choose(value);
      setProps(settingId(name), { value });
    });
    place.append(field);
  }
  // Leave text that is being typed alone.
  if (field !== document.activeElement) field.value = String(rounded(weight));
}
