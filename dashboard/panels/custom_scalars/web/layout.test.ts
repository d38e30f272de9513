import assert from "node:assert/strict";
import { type Category, type Chart, type Margin, newCategory, newChart, programOf, read, written } from "./layout.ts";
import type { SentLayout } from "./messages.generated.ts";

const SENT: SentLayout = {
  category: [{
    title: "Losses",
    closed: true,
    chart: [
      { title: "both", multiline: { tag: ["x/.*"] } },
      { title: "band", margin: { series: [{ value: "mean", lower: "low", upper: "high" }] } },
    ],
  }],
};

Deno.test("a layout that was read is written as it was", () => assert.deepEqual(written(read(SENT)), SENT));

Deno.test("what protobuf leaves out is empty", () => {
  assert.deepEqual(read({ category: [{ chart: [{}, { margin: { series: [{ value: "v" }] } }] }] }), [{
    title: "",
    closed: false,
    charts: [
      { title: "", kind: "multiline", tags: [] },
      { title: "", kind: "margin", series: [{ value: "v", lower: "", upper: "" }] },
    ],
  }]);
  assert.deepEqual(read({}), []);
});

Deno.test("what was left empty is not written: expressions, lines, charts and categories", () => {
  const categories: Category[] = [
    newCategory("nothing in it"),
    {
      title: "",
      closed: false,
      charts: [newChart("no lines", "margin"), { title: "one", kind: "multiline", tags: ["", "a"] }],
    },
  ];
  assert.deepEqual(written(categories), {
    category: [{ title: "", closed: false, chart: [{ title: "one", multiline: { tag: ["a"] } }] }],
  });
});

Deno.test("a program writes the layout, and joins categories of one title", () => {
  const again: Category = { title: "Losses", closed: false, charts: [{ title: "c", kind: "multiline", tags: ["c"] }] };
  assert.equal(
    programOf([...read(SENT), again]),
    `from stepscope import SummaryWriter

with SummaryWriter("logs") as writer:
    writer.add_custom_scalars({
        "Losses": {
            "both": [
                "Multiline",
                [
                    "x/.*"
                ]
            ],
            "band": [
                "Margin",
                [
                    "mean",
                    "low",
                    "high"
                ]
            ],
            "c": [
                "Multiline",
                [
                    "c"
                ]
            ]
        }
    })
`,
  );
});

Deno.test("a program has every chart of those with one title, or none", () => {
  const chart = (title: string): Chart => ({ title, kind: "multiline", tags: ["a"] });
  const category = { title: "All", closed: false, charts: ["", "", "loss", "loss", "loss"].map(chart) };
  const titles = programOf([category, { ...category, charts: [chart("loss")] }]).match(/(?<=^ {12}").*(?=": \[$)/gm);
  assert.deepEqual(titles, ["", "(2)", "loss", "loss (2)", "loss (3)", "loss (4)"]);
});

Deno.test("a program has a chart for each line with margins, and everything in the order of the layout", () => {
  const margin = (name: string): Margin => ({ value: name, lower: `${name}-`, upper: `${name}+` });
  const charts: Chart[] = [
    { title: "loss", kind: "margin", series: [margin("a"), margin("b")] },
    { title: "10", kind: "multiline", tags: ["c"] },
    { title: "2", kind: "multiline", tags: ["d"] },
  ];
  const layout = [{ title: "B", closed: false, charts }, { title: "1", closed: false, charts: charts.slice(1, 2) }];
  assert.equal(
    programOf(layout).replaceAll(/\s+/g, " "),
    'from stepscope import SummaryWriter with SummaryWriter("logs") as writer: writer.add_custom_scalars({ "B": { ' +
      '"loss": [ "Margin", [ "a", "a-", "a+" ] ], "loss (2)": [ "Margin", [ "b", "b-", "b+" ] ], ' +
      '"10": [ "Multiline", [ "c" ] ], "2": [ "Multiline", [ "d" ] ] }, "1": { "10": [ "Multiline", [ "c" ] ] } }) ',
  );
});
