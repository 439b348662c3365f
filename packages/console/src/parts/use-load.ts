import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { CallError } from '../session/call.ts';

export type LoadState<Value> = {
  readonly value: Value | undefined;
  /** Why the shown data may be outdated. */
  readonly error: string | undefined;
  /** The thing does not exist: loading it again does not help. */
  readonly isMissing: boolean;
  readonly busy: boolean;
  readonly reload: () => void;
};

/** An error as shown to the user. */
export const textOfError = (error: unknown): string =>
  error instanceof CallError && error.code === 'CONSOLE_UNREACHABLE'
    ? 'Holdpoint cannot be reached. The shown data may be outdated.'
    : error instanceof Error
      ? error.message
      : String(error);

/**
 * Loads when a key changes, or on request. Other keys load another thing; another version reloads the same one and
 * keeps the old data until the new data arrives.
 */
export const useLoad = <Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  keys: readonly unknown[],
  version?: unknown,
): LoadState<Value> => {
  const [shown, setShown] = useState<{ value?: Value; error?: string; isMissing?: boolean; busy: boolean }>({
    busy: true,
  });
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
        if (over.signal.aborted) return;
        const isMissing = error instanceof CallError && error.status === 404;
        setShown((last) => ({ ...last, error: textOfError(error), isMissing, busy: false }));
      });
    return () => over.abort();
  }, [keyed, round, version]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const { value, error, isMissing = false, busy } = shown;
  return { value, error, isMissing, busy, reload };
};
