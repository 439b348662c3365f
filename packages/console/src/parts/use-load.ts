import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { CallError } from '../session/call.ts';

export type Loaded<Value> = {
  readonly value: Value | undefined;
  /** Why what is shown is not what there is now. */
  readonly error: string | undefined;
  readonly busy: boolean;
  readonly reload: () => void;
};

/** What went wrong, as a person is told it. */
export const textOfError = (error: unknown): string =>
  error instanceof CallError && error.code === 'CONSOLE_UNREACHABLE'
    ? 'Holdpoint cannot be reached. What is shown may be out of date.'
    : error instanceof Error
      ? error.message
      : String(error);

/**
 * Loads whenever one of the keys changes, and when it is asked to. With other keys it is another thing that is loaded; with another
 * version it is the same, and what was loaded last stays until there is something newer.
 */
export const useLoad = <Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  keys: readonly unknown[],
  version?: unknown,
): Loaded<Value> => {
  const [shown, setShown] = useState<{ value?: Value; error?: string; busy: boolean }>({ busy: true });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const keyed = JSON.stringify(keys);
  const before = useRef(keyed);
  useEffect(() => {
    const over = new AbortController();
    const isOther = before.current !== keyed;
    before.current = keyed;
    setShown((last) => (isOther ? { busy: true } : { ...last, busy: true }));
    latest
      .current(over.signal)
      .then((value) => {
        if (!over.signal.aborted) setShown({ value, busy: false });
      })
      .catch((error: unknown) => {
        if (!over.signal.aborted) setShown((last) => ({ ...last, error: textOfError(error), busy: false }));
      });
    return () => over.abort();
  }, [keyed, round, version]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  return { value: shown.value, error: shown.error, busy: shown.busy, reload };
};
