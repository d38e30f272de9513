/** Taps of a finger: a first one shows what lies there, a second one at the same place does what a click does. */

/** Pixels: a press that moves farther is a drag. */
export const STILL = 4;
/** How far a second tap may be from the first. */
export const FINGER = 20;

type Place = Pick<PointerEvent, "clientX" | "clientY">;

const distance = (one: Place, other: Place) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
export const isNear = (one: Place | null, other: Place): boolean => one !== null && distance(one, other) <= FINGER;

let press: PointerEvent | null = null;
/** Whether a finger pressed last, so that a click is that of a tap. */
export const byFinger = (): boolean => press?.pointerType === "touch";
/** Whether what is let go of moved as little as a click does. */
export const isStill = (event: Place): boolean => press !== null && distance(press, event) <= STILL;

if (typeof document !== "undefined") {
  document.addEventListener("pointerdown", (event) => {
    // A second finger is no tap.
    press = event.isPrimary ? event : null;
  }, true);
  document.addEventListener("pointercancel", () => (press = null), true);
}

/** Calls `tap` for each tap of a finger, anywhere on the page. */
export function onTap(tap: (event: PointerEvent) => void): void {
  document.addEventListener("pointerup", (event) => {
    if (event.pointerType === "touch" && isStill(event)) tap(event);
  });
}

/** Closes a dialog by a click beside it that was pressed there, too: a tap that opens one may end beside it. */
export function closeBeside(dialog: HTMLDialogElement): void {
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog && press?.target === dialog) dialog.close();
  });
}
