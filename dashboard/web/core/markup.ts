/** The page's own components among those of Dash (dashboard/page/markup.py). */
import type { ReactElement } from "./react.ts";

type Attributes = Record<string, unknown>;
/** A text, an element, or the index of a component. */
type Node = string | number | [tag: string, attributes: Attributes, ...nodes: Node[]];

interface React {
  createElement(type: unknown, attributes: Attributes | null, ...children: unknown[]): ReactElement;
  useEffect(act: () => void, when: readonly unknown[]): void;
  useState<State>(first: State): [State, (next: State) => void];
  Fragment: unknown;
}
const react = (): React => Reflect.get(globalThis, "React");

interface MarkupProperties {
  tree: readonly Node[];
  /** React passes a single child without a list. */
  children?: ReactElement | readonly ReactElement[];
}

/** Elements that no callback touches, which Dash treats as one component. */
function Markup({ tree, children = [] }: MarkupProperties): ReactElement {
  const { createElement, Fragment } = react();
  const components = [children].flat();
  const made = (node: Node): ReactElement | string => {
    if (typeof node === "string") return node;
    if (typeof node === "number") return components[node];
    const [tag, attributes, ...nodes] = node;
    return createElement(tag, attributes, ...nodes.map(made));
  };
  return createElement(Fragment, null, ...tree.map(made));
}

const wanted = new Set<string>();
const waiting = new Map<string, (() => void)[]>();

/** Has the component with an id created. */
export function want(id: string): void {
  wanted.add(id);
  const actions = waiting.get(id) ?? [];
  waiting.delete(id);
  for (const act of actions) act();
}

/** Calls `act` as soon as the component with an id is wanted. */
export function whenWanted(id: string, act: () => void): void {
  if (wanted.has(id)) act();
  else waiting.set(id, [...waiting.get(id) ?? [], act]);
}

/** A component that is created only when it is wanted. */
function Later({ name, children }: { name: string; children: ReactElement }): ReactElement | null {
  const { createElement, Fragment, useEffect, useState } = react();
  const [isMade, make] = useState(false);
  useEffect(() => whenWanted(name, () => make(true)), [name]);
  return isMade ? createElement(Fragment, null, children) : null;
}

Object.assign(globalThis, { stepscope_page: { Markup, Later } });
