/** Elements of the React that Dash brings, for cells of its grids. */

export interface ReactElement {
  readonly type: unknown;
}

export const h = (
  tag: string,
  props: Record<string, unknown>,
  ...children: (ReactElement | string | null)[]
): ReactElement => Reflect.get(window, "React").createElement(tag, props, ...children);
