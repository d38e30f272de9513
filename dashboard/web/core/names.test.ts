import assert from "node:assert/strict";
import { shortNames, withoutMiddle } from "./names.ts";

const short = (room: number, ...names: string[]) => names.map((name) => shortNames(names, room).get(name));

Deno.test("names that fit are whole", () => {
  assert.deepEqual(short(8, "train/a", "train/bb"), ["train/a", "train/bb"]);
});

Deno.test("of what all begin and end with as much is left out as has to be", () => {
  const tag = (place: number, part: string) => `model/layers.${place}.self_attn.${part}.weight/grad_norm`;
  const tags = [tag(0, "q_proj"), tag(11, "q_proj"), tag(0, "k_proj")];
  const start = (text: string) => tags.map((name) => text + name.slice(name.indexOf("layers.")));
  assert.deepEqual(short(46, ...tags), start("…"));
  assert.deepEqual(short(38, ...tags), [
    "…0.self_attn.q_proj.weight/grad_norm",
    "…11.self_attn.q_proj.weight/grad_norm",
    "…0.self_attn.k_proj.weight/grad_norm",
  ]);
  assert.deepEqual(short(18, ...tags), ["…0.self_attn.q_…", "…11.self_attn.q_…", "…0.self_attn.k_…"]);
});

Deno.test("where what differs is too long, it is abbreviated", () => {
  const name = (rate: string, optimizer: string, node: number) =>
    `exp/llama-7b_bs1024_lr${rate}_optimizer-${optimizer}_warmup2000_node${node}`;
  const names = ["1e-4", "3e-4"].flatMap((rate) =>
    ["adamw", "lion"].flatMap((optimizer) => [name(rate, optimizer, 0), name(rate, optimizer, 1)])
  );
  assert.deepEqual(short(28, ...names).slice(0, 3), [
    "…lr1e-4_…adamw_…node0",
    "…lr1e-4_…adamw_…node1",
    "…lr1e-4_…lion_…node0",
  ]);
  assert.deepEqual(short(18, ...names).slice(0, 3), ["…1e-4…adamw…0", "…1e-4…adamw…1", "…1e-4…lion…0"]);
});

Deno.test("numbers and values stay whole", () => {
  const names = [
    "lr=0.1,momentum=0.9,optimizer=sgd",
    "lr=0.01,momentum=0.9,optimizer=sgd",
    "lr=1e-3,momentum=0.9,optimizer=sgd",
  ];
  assert.deepEqual(short(12, ...names), ["lr=0.1,…", "lr=0.01,…", "lr=1e-3,…"]);
});

Deno.test("parts that most share go before those that tell a name", () => {
  const names = ["exp/resnet50_bs256_lr0.1_seed1", "exp/resnet50_bs256_lr0.2_seed2", "exp/vit_bs256_lr0.2_seed3"];
  assert.deepEqual(short(18, ...names), ["…lr0.1_seed1", "…lr0.2_seed2", "…vit_…lr0.2_seed3"]);
});

Deno.test("names without parts are told apart around the letters that differ", () => {
  const name = (letter: string) => "a".repeat(30) + letter + "b".repeat(30);
  const texts = short(12, name("x"), name("y"));
  assert.deepEqual(texts.map((text) => text?.replace(/[ab…]/g, "")), ["x", "y"]);
  assert.ok(texts.every((text) => text && text.length <= 12));
});

Deno.test("no two names have the same text, however little room there is", () => {
  let seed = 7;
  const random = (most: number) => (seed = (seed * 16807) % 2147483647) % most;
  for (let round = 0; round < 300; round += 1) {
    const words = ["a", "bb", "train", "lr_0.1", "seed", "0", "x-y", "…", "(2)"];
    const made = () => Array.from({ length: 1 + random(6) }, () => words[random(words.length)]).join("/_ "[random(3)]);
    const names = [...new Set(Array.from({ length: 1 + random(12) }, made))];
    const room = 3 + random(20);
    const texts = [...shortNames(names, room).values()];
    assert.equal(new Set(texts).size, names.length, JSON.stringify([names, room, texts]));
    if (room > 12) assert.ok(texts.every((text) => text.length <= room), JSON.stringify([names, room, texts]));
  }
});

Deno.test("room may be told in pixels", () => {
  const wide = (text: string) => [...text].reduce((sum, letter) => sum + (letter === "W" ? 10 : 5), 0);
  assert.deepEqual([...shortNames(["WWWW/a", "WWWW/b"], 30, wide).values()], ["…a", "…b"]);
  assert.equal(withoutMiddle("WWWWWW", 45, wide), "WW…WW");
});

Deno.test("a name alone loses its middle", () => {
  assert.equal(withoutMiddle("abcdefghij", 6), "abc…ij");
  assert.deepEqual(short(6, "abcdefghij"), ["abc…ij"]);
});
