/**
 * Generators as compiled for browsers without native ones: Dash's packages have one, where a component that was loaded
 * late announces itself, and expect its runtime among Dash's polyfills. Those cost 100 kB and a fifth of a second for
 * features that every browser with modules has, so the page omits them and uses this instead.
 */

/** The state of such a function between its parts. */
interface Context {
  prev: number | string;
  next: number | string;
  /** The result that the last waiting part received. */
  sent: unknown;
  stop(): unknown;
}

type Parts = (context: Context) => unknown;

interface Runtime {
  mark<F>(generator: F): F;
  wrap(parts: Parts): Iterator<unknown>;
}

export const runtime: Runtime = {
  mark: (generator) => generator,
  /** Wraps the parts of a function without `try`; `context.next` selects the part. */
  wrap(parts) {
    let done = false;
    const context: Context = { prev: 0, next: 0, sent: undefined, stop: () => void (done = true) };
    return {
      next(value?: unknown) {
        context.sent = value;
        return { value: parts(context), done };
      },
    };
  },
};
