/** Elements for the cells of Dash's grids, created with the React that comes with Dash. */

export interface ReactElement {
  readonly type: unknown;
}

export const h = (
  tag: string,
  props: Record<string, unknown>,
  ...children: (ReactElement | string | null)[]
): ReactElement => Reflect.get(window, "React").createElement(tag, props, ...children);
