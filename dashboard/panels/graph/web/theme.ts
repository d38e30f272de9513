/** Graph colors: from the page's CSS variables, by operation category, and from palettes of equal lightness. */
import * as color from "../../../web/core/color.ts";
import { css } from "../../../web/core/color.ts";

/** Operation categories: a title, a hue (OKLCH degrees; null for gray), and the names that belong to each. */
const CATEGORIES: [string, string, number | null, RegExp][] = [
  [
    "call",
    "Call",
    310,
    /^(partitionedcall|statefulpartitionedcall|symbolicgradient|remotecall|batchfunction|xlalaunch|functional|model|sequential|module)$|call$/,
  ],
  [
    "control",
    "Control flow",
    345,
    /^(ref)?(switch|merge|enter|exit|nextiteration|loopcond)$|^(stateless)?(if|while|case|for|loop|scan)$|^(controltrigger|noop|assert|identityn?|placeholderwithdefault|stopgradient|abort)$|^prim::(if|loop)/,
  ],
  ["gradient", "Gradient", 12, /grad(v\d)?$|gradient|backprop|^(resource)?(sparse)?apply|backward/],
  ["loss", "Loss", 25, /loss|crossentropy|cross_entropy|criterion/],
  ["attention", "Attention and recurrence", 285, /attention|lstm|gru|rnn|einsum/],
  ["convolution", "Convolution", 255, /conv/],
  [
    "matmul",
    "Matrix product",
    225,
    /matmul|^(aten::)?(linear|dense|gemm|addmm|bmm|mm|mv|dot|baddbmm)$|innerproduct|fullyconnected/,
  ],
  ["norm", "Normalization", 195, /norm|lrn$|dropout/],
  [
    "activation",
    "Activation",
    55,
    /relu|elu$|gelu|selu|sigmoid|tanh|softmax|softplus|softsign|swish|silu|mish|activation|hardtanh|erf$/,
  ],
  ["pool", "Pooling", 160, /pool/],
  [
    "data",
    "Variables and constants",
    null,
    /^(const|constant|initializer|parameter|buffer|param|getattr)$|variable|varhandle|readvar|assign|^(io node|prim::(param|getattr|constant|listconstruct|tupleconstruct))|constantof/,
  ],
  [
    "input",
    "Inputs and outputs",
    135,
    /^(placeholder|input|inputlayer|output|result|return|_?arg|_?retval|feed|fetch|data|iteratorgetnext|graph_?input|graph_?output)$|queue|dataset|iterator/,
  ],
  ["summary", "Summaries and files", 90, /summary|save|restore|checkpoint|readfile|writefile|decode|mergev2/],
  ["random", "Random", 120, /random|normal$|uniform|multinomial|bernoulli|shuffle/],
  [
    "shape",
    "Shape",
    100,
    /reshape|transpose|permute|concat|^(aten::)?(cat|split|stack|slice|select|view|flatten|squeeze|unsqueeze|expand|expanddims|pack|unpack|pad|tile|repeat|gather|shape|shapen|size|rank|stridedslice|fill|zeros|ones|oneslike|zeroslike|chunk|contiguous|range|cast|to|broadcastto)(v\d|nd)?$|flatten|upsampl|resize|slice|padding|scatter|embedding|lookup/,
  ],
  [
    "reduce",
    "Reduction",
    75,
    /^(aten::)?(sum|mean|max|min|prod|any|all|argmax|argmin|norm|topk|cumsum|globalaverage)(v\d)?$|^reduce/,
  ],
  [
    "math",
    "Arithmetic",
    175,
    /^(aten::)?(add|addn|addv2|sub|mul|div|realdiv|floordiv|mod|neg|exp|log|sqrt|rsqrt|pow|square|abs|sign|maximum|minimum|biasadd|squareddifference|greater|less|equal|notequal|greaterequal|lessequal|logical\w+|select|selectv2|where|clip\w*|floor|ceil|round|reciprocal|multiply|subtract|average|concatenate|sin|cos)_?$/,
  ],
];
const OTHER = ["other", "Other", 265, /$/] as [string, string, number | null, RegExp];
const HUES = [255, 55, 150, 320, 205, 95, 20, 285, 180, 345, 120, 230, 75, 300, 165, 40];

const found: Map<string, [string, string, number | null, RegExp]> = new Map();
/** @returns key, title, hue, names */
function categoryOf(op: string): [string, string, number | null, RegExp] {
  let category = found.get(op);
  if (!category) {
    const name = op.toLowerCase().replace(/^onnx::/, "");
    category = CATEGORIES.find(([, , , names]) => names.test(name)) ?? OTHER;
    if (found.size > 5000) found.clear();
    found.set(op, category);
  }
  return category;
}

const oklch = (lightness: number, chroma: number, hue: number) => css(color.oklch(lightness, chroma, hue));

export interface Theme {
  dark: boolean;
  /** behind everything */
  canvas: string;
  node: string;
  group: string;
  /** expanded groups, by depth */
  containers: string[];
  border: string;
  /** borders of groups */
  strong: string;
  text: string;
  dimmed: string;
  accent: string;
  edge: string;
  control: string;
  reference: string;
  match: string;
  /** for nodes that did not run or are unknown */
  gray: string;
  grayText: string;
  verdicts: Record<"added" | "removed" | "changed", { fill: string; line: string }>;
  warn: string;
  font: string;
  /** color of a category */
  stripe: (hue: number | null) => string;
  /** a palette color by number */
  tint: (place: number) => string;
  /** from 0 (little) to 1 (much) */
  ramp: (share: number) => string;
}

function read(element: Element): Theme {
  const style = getComputedStyle(element);
  const dark = document.documentElement.getAttribute("data-mantine-color-scheme") === "dark";
  const variable = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  const verdict = (hue: number) => ({
    fill: oklch(dark ? 0.32 : 0.95, dark ? 0.06 : 0.045, hue),
    line: oklch(dark ? 0.72 : 0.6, 0.15, hue),
  });
  const ramp: string[] = [];
  return {
    dark,
    canvas: variable("--bg", dark ? "#101216" : "#f6f7f9"),
    node: variable("--surface", dark ? "#181b21" : "#ffffff"),
    group: dark ? "#232933" : "#edf0f6",
    containers: dark ? ["#161a20", "#1b2028", "#20262f", "#252c36"] : ["#fbfcfe", "#f3f6fa", "#ebeff6", "#e3e9f2"],
    border: dark ? "#38404c" : "#cfd6e0",
    strong: dark ? "#4b5666" : "#b4becd",
    text: variable("--ink", dark ? "#e3e7ee" : "#1c2330"),
    dimmed: variable("--ink-dim", dark ? "#868f9d" : "#7a8494"),
    accent: variable("--accent", dark ? "#8ea5ff" : "#4263eb"),
    edge: dark ? "#667284" : "#97a2b2",
    control: dark ? "#545e6d" : "#b3bcc9",
    reference: dark ? "#d79a58" : "#c07a2c",
    match: dark ? "#ffd43b" : "#e8590c",
    gray: dark ? "#1d2026" : "#eceef1",
    grayText: dark ? "#6a7380" : "#9aa3af",
    verdicts: { added: verdict(150), removed: verdict(20), changed: verdict(80) },
    warn: variable("--warn", dark ? "#f0b34d" : "#b8720b"),
    font: variable("--mantine-font-family", "system-ui, sans-serif"),
    stripe: (
      hue,
    ) => (hue === null ? (dark ? "#6b7686" : "#a4aebb") : oklch(dark ? 0.66 : 0.68, dark ? 0.12 : 0.13, hue)),
    tint: (place) => {
      const turn = Math.floor(place / HUES.length) % 3;
      return oklch(
        (dark ? 0.38 : 0.9) + (dark ? 0.045 : -0.04) * turn,
        dark ? 0.075 : 0.065,
        HUES[((place % HUES.length) + HUES.length) % HUES.length] + 9 * turn,
      );
    },
    ramp: (share) => {
      const step = Math.round(Math.min(Math.max(share, 0), 1) * 100);
      const at = step / 100;
      return (ramp[step] ||= oklch(dark ? 0.3 + 0.27 * at : 0.965 - 0.25 * at, 0.015 + 0.14 * at, 85 - 58 * at));
    },
  };
}

export const theme = { read, categoryOf, CATEGORIES: [...CATEGORIES, OTHER] };
