import assert from "node:assert/strict";
import * as scales from "./scales.ts";

const LOOK = { pictures: "both", spectra: "mix", tall: 1 } as const;

Deno.test("lanes are the waveforms of the channels and below them the spectrogram of their mean, or of each", () => {
  assert.deepEqual(scales.lanes(2, LOOK), [
    { kind: "wave", channel: 0, top: 0, height: 46 },
    { kind: "wave", channel: 1, top: 49, height: 46 },
    { kind: "spectrum", channel: null, top: 98, height: 132 },
  ]);
  assert.deepEqual(scales.lanes(2, { pictures: "spectrogram", spectra: "each", tall: 2 }), [
    { kind: "spectrum", channel: 0, top: 0, height: 184 },
    { kind: "spectrum", channel: 1, top: 187, height: 184 },
  ]);
  assert.deepEqual(scales.lanes(1, { ...LOOK, pictures: "waveform" }), [
    { kind: "wave", channel: 0, top: 0, height: 64 },
  ]);
  assert.equal(scales.lanes(12, LOOK).length, 9);
});

Deno.test("channels are called left and right where there are two", () => {
  assert.deepEqual([0, 1].map((channel) => scales.channelName(channel, 2)), ["L", "R"]);
  assert.deepEqual([scales.channelName(0, 1), scales.channelName(null, 2), scales.channelName(4, 6)], ["", "", "5"]);
});

Deno.test("a place of the picture is a moment, and back", () => {
  const { plot, x, seconds } = scales.geometry(250, { start: 1, stop: 3 });
  assert.deepEqual([plot, x(1), x(2), x(3)], [200, 48, 148, 248]);
  assert.equal(seconds(148), 2);
});

Deno.test("mel 1000 is 1000 Hz, and places of frequencies lead back to them", () => {
  const { place, hertz } = scales.frequencyScale(2000, "mel");
  assert.equal(place(1000), 1);
  assert.ok(Math.abs(2595 * Math.log10(1 + hertz(0.5) / 700) - 500) < 0.1);
  assert.ok(Math.abs(hertz(place(440)) - 440) < 1e-9);
  assert.equal(scales.frequencyScale(2000, "linear").hertz(0.25), 250);
});

Deno.test("frequencies are labeled where there is room", () => {
  assert.deepEqual(scales.frequencyTicks(8000, "linear", 100), [1000, 2000, 3000]);
  assert.deepEqual(scales.frequencyTicks(8000, "mel", 132), [100, 500, 1000, 2000]);
});

Deno.test("ticks are at round times, of minutes where they are long", () => {
  assert.deepEqual([0.03, 0.2, 3, 12, 20, 40, 200, 40000].map(scales.timeStep), [
    0.05,
    0.2,
    5,
    15,
    30,
    60,
    300,
    72000,
  ]);
  assert.deepEqual(scales.multiples(0.9, 3.1, 1), [1, 2, 3]);
});

Deno.test("times have the digits that their distance needs", () => {
  assert.deepEqual(
    [[1.2345, 0.01], [59.9, 1], [61, 1], [61.25, 0.1], [3725, 60]].map(([seconds, step]) =>
      scales.clock(seconds, step)
    ),
    ["1.23 s", "60 s", "1:01", "1:01.3", "1:02:05"],
  );
});

Deno.test("the darkest color is at the floor, the brightest at the ceiling, each level half a decibel", () => {
  const bytes = new Uint8Array(scales.palette(0, -100, 0).buffer);
  const color = (level: number) => [...bytes.slice(4 * level, 4 * level + 4)];
  assert.deepEqual(color(255), [253, 231, 37, 255]);
  assert.deepEqual(color(55), [68, 1, 84, 255]);
  assert.deepEqual(color(0), color(55));
  assert.deepEqual(color(155), [33, 145, 140, 255]);
});
