// What Dash and its grid call by name.

export const gridFunctions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
export const gridComponents = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});

/** Adds functions that callbacks of the server name. */
export function callbacks(namespace, functions) {
  const all = (window.dash_clientside = window.dash_clientside || {});
  all[namespace] = Object.assign(all[namespace] || {}, functions);
}
