/** Finger taps: a first tap shows what is there, and a second tap in the same place does what a click does. */

/** In pixels: a press that moves farther is a drag. */
export const STILL = 4;
/** How far a second tap may be from the first. */
export const FINGER = 20;

type Place = Pick<PointerEvent, "clientX" | "clientY">;

const distance = (one: Place, other: Place) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
export const isNear = (one: Place | null, other: Place): boolean => one !== null && distance(one, other) <= FINGER;

let press: PointerEvent | null = null;
/** Whether the last press was by a finger, so that a click comes from a tap. */
export const byFinger = (): boolean => press?.pointerType === "touch";
/** Whether a released press moved as little as a click does. */
export const isStill = (event: Place): boolean => press !== null && distance(press, event) <= STILL;

if (typeof document !== "undefined") {
  document.addEventListener("pointerdown", (event) => {
    // A second finger is not a tap.
    press = event.isPrimary ? event : null;
  }, true);
  document.addEventListener("pointercancel", () => (press = null), true);
}

/** Calls `tap` for each finger tap, anywhere on the page. */
export function onTap(tap: (event: PointerEvent) => void): void {
  document.addEventListener("pointerup", (event) => {
    if (event.pointerType === "touch" && isStill(event)) tap(event);
  });
}

/** Closes a dialog on a click beside it that was also pressed there: a tap that opens a dialog may end beside it. */
export function closeBeside(dialog: HTMLDialogElement): void {
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog && press?.target === dialog) dialog.close();
  });
}
