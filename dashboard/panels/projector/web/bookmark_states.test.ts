import assert from "node:assert/strict";
import { bookmarksOf, cameraDef, cameraOf, coordinatesOf, placesOf } from "./bookmark_states.ts";

Deno.test("a camera goes to TensorBoard's form and back", () => {
  for (const text of ["2:0.2,0.1,3", "3:35,22,1.5,0.1,-0.2,0.3,p"]) {
    assert.equal(cameraOf(cameraDef(text), text.startsWith("2") ? 2 : 3), text);
  }
});

Deno.test("what is not a camera is none", () => {
  assert.equal(cameraOf(undefined, 2), "");
  assert.equal(cameraOf({ position: [0, 1], target: [0, 0, 0] }, 2), "");
  assert.equal(cameraOf({ position: [0, 1, NaN], target: [0, 0, 0] }, 3), "");
});

Deno.test("places are named as TensorBoard names them, and found by these names", () => {
  const picture = { values: Float32Array.of(1, 2, 3, 4), dimensions: 2 as const };
  assert.deepEqual(placesOf(picture, "pca", [4, 0, 1]), [{ "pca-4": 1, "pca-0": 2 }, { "pca-4": 3, "pca-0": 4 }]);
  const places = placesOf(picture, "custom", [0, 1, 2]);
  assert.deepEqual(places, [{ "linear-x": 1, "linear-y": 2 }, { "linear-x": 3, "linear-y": 4 }]);
  assert.deepEqual(coordinatesOf(places, "custom", 3), { coordinates: picture.values, dimensions: 2 });
  assert.equal(coordinatesOf(places, "tsne", 2), null);
});

Deno.test("bookmarks of other data, and what is not a list of them, are refused with a sentence", () => {
  const read = (text: string) => bookmarksOf(text, "state.txt", 300, 16);
  assert.deepEqual(read('[{"label": "a", "dataSetDimensions": [300, 16]}, {}]'), [
    { label: "a", dataSetDimensions: [300, 16] },
    {},
  ]);
  assert.throws(() => read("{"), {
    message: "state.txt is not JSON; bookmarks are a list of states, as TensorBoard's projector saves them.",
  });
  for (const text of ["[]", "{}", "[1]", "[null]"]) {
    assert.throws(() => read(text), { message: "state.txt holds no list of bookmarks." });
  }
  assert.throws(() => read('[{"dataSetDimensions": [5, 16]}]'), {
    message: "The bookmarks belong to data of 5 × 16, but the open data is 300 × 16.",
  });
});
