// The field for the number of the smoothing, beside its slider.
import { bind } from "../../web/core/commands.ts";
import { setProps, settingId } from "../../web/core/dash.ts";
import { make } from "../../web/core/dom.ts";
import { MOST_SMOOTHING } from "./entries.ts";

const FINE = 0.01;
const COARSE = 0.1;

/** A smoothing as it is written: three digits behind the point at most. */
export const rounded = (value: number): number =>
  Math.round(Math.min(Math.max(value, 0), MOST_SMOOTHING) * 1000) / 1000;

/** A field for a smoothing; arrow keys are fine, Page Up and Page Down coarse. */
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

/** What the slider was told and has not said yet. */
let awaited: number | null = null;

/** What a hand does with the slider; null while the slider only follows the field, which may be further by now. */
export function saidBySlider(thumb: Element): number | null {
  const value = Number(thumb.getAttribute("aria-valuenow"));
  const isFollowing = awaited !== null && !thumb.closest(".smoothing")?.matches(":active, :focus-within");
  if (!isFollowing || value === awaited) awaited = null;
  return isFollowing ? null : value;
}

const fieldIn = (place: Element | null) => place?.querySelector<HTMLInputElement>("input") ?? null;

/** Puts the field of all cards where the toolbar has its place, and has it say what the slider does. */
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
  // What is being typed stays.
  if (field !== document.activeElement) field.value = String(rounded(weight));
}
