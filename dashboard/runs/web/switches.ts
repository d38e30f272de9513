/** Which runs are switched on: a base, "default", "found", "all" or "none", with exceptions both ways; and names given by hand. */

/** What tells whether a run is on: its name, the run it belongs to, and its place in the order of first events. */
export interface Switchable {
  run: string;
  parent: string | null;
  /** That of its parent, where it has one. */
  order: number;
}

export interface Switches {
  base: string;
  show: ReadonlySet<string>;
  hide: ReadonlySet<string>;
  /** The order of the last run that the base "default" has. */
  lastDefault: number;
  /** Whether something is searched for, so that the base "found" is all that was found. */
  searched: boolean;
}

/** Whether it is on where it is no exception; one that belongs to another run is with that. */
function inBase({ parent, order }: Switchable, switches: Switches): boolean {
  if (parent !== null) return isOn({ run: parent, parent: null, order }, switches);
  if (switches.base === "all" || (switches.base === "found" && switches.searched)) return true;
  return switches.base !== "none" && order <= switches.lastDefault;
}

export const isOn = (run: Switchable, switches: Switches): boolean =>
  (inBase(run, switches) || switches.show.has(run.run)) && !switches.hide.has(run.run);

/** The runs that `hide` switches off: those it names, and what belongs to them without being shown by name. */
export function hiddenRuns(
  runs: Iterable<Switchable>,
  { hide, show }: { hide: ReadonlySet<string>; show: ReadonlySet<string> },
): Set<string> {
  const hidden = new Set(hide);
  for (const { run, parent } of runs) if (parent !== null && hide.has(parent) && !show.has(run)) hidden.add(run);
  return hidden;
}

/**
 * The exceptions after runs were switched: each is kept only where it differs from the base.
 * @param runs those that belong to another behind it
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

/** The run of an entry "run:text", in which it is percent-encoded; null where it is not. */
function runOf(entry: string): string | null {
  try {
    return decodeURIComponent(entry.slice(0, entry.indexOf(":")));
  } catch {
    return null;
  }
}

/** What entries have for a run, or "". */
export function givenIn(entries: readonly string[], run: string): string {
  const entry = entries.find((one) => runOf(one) === run);
  return entry ? entry.slice(entry.indexOf(":") + 1) : "";
}

/** Entries with another text for a run; none with "". */
export function withGiven(entries: readonly string[], run: string, text: string): string[] {
  const rest = entries.filter((entry) => runOf(entry) !== run);
  return text ? [...rest, `${encodeURIComponent(run)}:${text}`] : rest;
}
