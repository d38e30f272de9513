/** Elements that callbacks have nothing to do with, which Dash takes for one component (dashboard/page/markup.py). */
import type { ReactElement } from "./react.ts";

type Attributes = Record<string, unknown>;
/** A text, an element, or the number of a component. */
type Node = string | number | [tag: string, attributes: Attributes, ...nodes: Node[]];

interface Properties {
  tree: readonly Node[];
  children?: readonly ReactElement[];
}

function Markup({ tree, children = [] }: Properties): ReactElement {
  const { createElement, Fragment } = Reflect.get(window, "React");
  const made = (node: Node): ReactElement | string => {
    if (typeof node === "string") return node;
    if (typeof node === "number") return children[node];
    const [tag, attributes, ...nodes] = node;
    return createElement(tag, attributes, ...nodes.map(made));
  };
  return createElement(Fragment, null, ...tree.map(made));
}

Object.assign(window, { stepscope_page: { Markup } });
