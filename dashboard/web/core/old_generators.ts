/**
 * Generators as compilers wrote them for browsers without: Dash's packages have one, where a component that came late
 * tells that it is there, and expect this runtime of theirs among Dash's polyfills. Those take 100 kB and a fifth of a
 * second for what every browser with modules has, so the page leaves them out and has this instead.
 */

/** What such a function keeps between its parts. */
interface Context {
  prev: number | string;
  next: number | string;
  /** What the last part that waited got. */
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
  /** The parts of a function without `try`, which are told by `context.next`. */
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
