/** Which runs are on: a base ("default", "found", "all" or "none") with exceptions both ways; names given by hand. */

/** What determines whether a run is on: its name, the run it belongs to, and its place in the order of first events. */
export interface Switchable {
  run: string;
  parent: string | null;
  /** The parent's order, if the run has a parent. */
  order: number;
}

export interface Switches {
  base: string;
  show: ReadonlySet<string>;
  hide: ReadonlySet<string>;
  /** The order of the last run included in the base "default". */
  lastDefault: number;
  /** Whether a search is active, so that the base "found" includes everything found. */
  searched: boolean;
}

/** Whether a run is on unless it is an exception; a run that belongs to another one follows it. */
function inBase({ parent, order }: Switchable, switches: Switches): boolean {
  if (parent !== null) return isOn({ run: parent, parent: null, order }, switches);
  if (switches.base === "all" || (switches.base === "found" && switches.searched)) return true;
  return switches.base !== "none" && order <= switches.lastDefault;
}

export const isOn = (run: Switchable, switches: Switches): boolean =>
  (inBase(run, switches) || switches.show.has(run.run)) && !switches.hide.has(run.run);

/** The runs that `hide` switches off: those it names, and the runs that belong to them unless shown by name. */
export function hiddenRuns(
  runs: Iterable<Switchable>,
  { hide, show }: { hide: ReadonlySet<string>; show: ReadonlySet<string> },
): Set<string> {
  const hidden = new Set(hide);
  for (const { run, parent } of runs) if (parent !== null && hide.has(parent) && !show.has(run)) hidden.add(run);
  return hidden;
}

/**
 * The exceptions after runs were switched: each is kept only if it differs from the base.
 * @param runs the switched runs, each followed by those that belong to it
 */
export function switched(
  runs: Iterable<Switchable>,
  on: boolean,
  before: Switches,
): { show: string[]; hide: string[] } {
  const [show, hide] = [new Set(before.show), new Set(before.hide)];
  for (const run of runs) {
    show.delete(run.run);
    hide.delete(run.run);
    if (on !== inBase(run, { ...before, show, hide })) (on ? show : hide).add(run.run);
  }
  return { show: [...show], hide: [...hide] };
}

/** The run of an entry "run:text", where it is percent-encoded; null if it cannot be decoded. */
function runOf(entry: string): string | null {
  try {
    return decodeURIComponent(entry.slice(0, entry.indexOf(":")));
  } catch {
    return null;
  }
}

/** The text that the entries hold for a run, or "". */
export function givenIn(entries: readonly string[], run: string): string {
  const entry = entries.find((one) => runOf(one) === run);
  return entry ? entry.slice(entry.indexOf(":") + 1) : "";
}

/** The entries with a new text for a run; "" removes its entry. */
export function withGiven(entries: readonly string[], run: string, text: string): string[] {
  const rest = entries.filter((entry) => runOf(entry) !== run);
  return text ? [...rest, `${encodeURIComponent(run)}:${text}`] : rest;
}
