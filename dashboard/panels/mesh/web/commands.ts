/** Keys for the mesh that has the focus, and gestures. */
import { type Act, type Command, register } from "../../../web/core/commands.ts";
import { within } from "../../../web/core/dom.ts";
import { cameras } from "./cameras.ts";
import { type Card, cards } from "./card.ts";
import { shifted } from "./input.ts";
import { moveCamera, resetCamera, rest } from "./loop.ts";
import { type Camera, turned, zoomed } from "./orbit.ts";

const KEY_TURN = 10; // degrees
const KEY_PAN = 30; // pixels
const KEY_ZOOM = 1.2;
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

/** The drawn card whose mesh has the focus. */
function cardOf(event?: KeyboardEvent): Card | null {
  const canvas = event && within(event, ".mesh-canvas");
  const key = canvas?.closest<HTMLElement>(".mesh-card")?.dataset.key;
  const card = key === undefined ? undefined : cards.get(key);
  return card?.seen ? card : null;
}

const onMesh = (act: (card: Card, event: KeyboardEvent) => void): Pick<Command, "act" | "when"> => {
  const taken: Act = (event) => {
    const card = cardOf(event);
    if (!card) return false;
    act(card, event);
    rest();
  };
  return { act: taken, when: (event) => cardOf(event) !== null };
};

const moved = (move: (camera: Camera, card: Card, event: KeyboardEvent) => Camera) =>
  onMesh((card, event) => moveCamera(card, move(cameras.of(card), card, event)));

/** How far an arrow key points to the right and down. */
const aim = ({ key }: KeyboardEvent): [number, number] => [
  key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0,
  key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0,
];

export const commands: readonly Command[] = [
  {
    id: "mesh.turn",
    title: "Rotate",
    gestures: ["drag"],
    keys: ARROWS,
    keysShown: "arrows",
    ...moved((camera, _card, event) => {
      const [x, y] = aim(event);
      return turned(camera, x * KEY_TURN, y * KEY_TURN);
    }),
  },
  {
    id: "mesh.move",
    title: "Pan",
    gestures: ["right drag", "Shift drag"],
    keys: ARROWS.map((arrow) => `Shift ${arrow}`),
    keysShown: "Shift arrows",
    ...moved((camera, { seen }, event) => {
      const [x, y] = aim(event);
      return seen ? shifted(camera, x * KEY_PAN, y * KEY_PAN, seen) : camera;
    }),
  },
  {
    id: "mesh.zoom_in",
    title: "Zoom in",
    gestures: ["wheel"],
    keys: ["+", "="],
    keysShown: "+",
    ...moved((camera) => zoomed(camera, KEY_ZOOM)),
  },
  {
    id: "mesh.zoom_out",
    title: "Zoom out",
    keys: ["-"],
    ...moved((camera) => zoomed(camera, 1 / KEY_ZOOM)),
  },
  {
    id: "mesh.reset_camera",
    title: "Reset the camera",
    gestures: ["double click"],
    keys: ["r", "0"],
    ...onMesh((card) => resetCamera(card)),
  },
];

register({ panel: "mesh", title: "Mesh", commands });
