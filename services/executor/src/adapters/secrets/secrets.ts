import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure, type HiddenStream, type Secrets } from '../../ports/capability.ts';
import { hideStream } from './hide-stream.ts';
import { type Matcher, SECRET_CHARACTERS_MIN } from './matcher.ts';
import { hideSecrets, matcherFor } from './redact.ts';
import type { SecretTable } from './secret-table.ts';

/** The secrets of one start. They are hidden in all its output and results. */
export interface StartSecrets extends Secrets {
  /** Hides the secrets of the table in a line. The caller hides those of the executor. */
  readonly hideListed: (line: string) => string;
  /** Hides secrets in every text of a value, and in the names of its members. */
  readonly hideIn: <Value>(value: Value) => Value;
  readonly hiddenStream: () => HiddenStream;
}

/**
 * Other steps use values such as paths: a shorter password is hidden in output only, because it may be an ordinary
 * word.
 */
const OWN_CHARACTERS_MIN = 16;
const REFERENCE = /\$\{secret:([^}]*)\}/g;

const unknown = (name: string, cause?: unknown): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_SECRET_UNKNOWN', `unknown secret ${shownName(name)}`), cause);
const unreadable = (name: string, cause: unknown): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_SECRET_UNKNOWN', `cannot read secret ${shownName(name)}`), cause);
const notAllowed = (name: string, why: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_SECRET_NOT_ALLOWED', `secret ${shownName(name)} ${why}`));

/** The name comes from an order. */
const shownName = (name: string): string => JSON.stringify(name.slice(0, 64));

const valueOf = (table: SecretTable, name: string, use: string): string => {
  const source = table.get(name);
  if (source === undefined) throw unknown(name);
  if (!source.uses.has(use)) throw notAllowed(name, `is not for ${use}`);
  let value: string;
  try {
    value = source.read();
  } catch (cause) {
    throw unreadable(name, cause);
  }
  if (value.length >= SECRET_CHARACTERS_MIN && !value.includes('\0')) return value;
  throw notAllowed(
    name,
    `cannot be hidden: it has fewer than ${String(SECRET_CHARACTERS_MIN)} characters, or a NUL`,
  );
};

/** Replaces every text; values other than plain data stay as they are. */
const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((inner) => mapTexts(inner, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [change(name), mapTexts(inner, change)]),
  );
};

/** The time for which the values of the table are known without reading them again, in ms. */
const KNOWN_MS = 5_000;
/** Replaced values stay hidden: a process may have kept one. */
const VALUES_MAX = 1_000;

/** All values of the table. A file that cannot be read has none that a process could show. */
const followTable = (table: SecretTable, now: () => number) => {
  const values = new Set<string>();
  let readAt = -Infinity;
  const add = (value: string): void => {
    if (value.length < SECRET_CHARACTERS_MIN || values.has(value)) return;
    values.add(value);
    for (const oldest of values) if (values.size > VALUES_MAX) values.delete(oldest);
  };
  return {
    add,
    values: (): readonly string[] => {
      if (now() - readAt >= KNOWN_MS) {
        readAt = now();
        for (const { read } of table.values()) {
          try {
            add(read());
          } catch {
            // An effect that needs it fails with its own error.
          }
        }
      }
      return [...values];
    },
  };
};

/**
 * Creates the secrets of a start. All values of the table are hidden in everything that leaves a start, whether it used
 * them or not. `own` are the executor's own secrets: always hidden, never filled in.
 */
export const createSecrets = (
  table: SecretTable,
  own: readonly string[] = [],
  now: () => number = () => performance.now(),
) => {
  const listed = followTable(table, now);
  const inValues = own.filter((secret) => secret.trim().length >= OWN_CHARACTERS_MIN);
  let known:
    | ({ readonly values: readonly string[] } & Record<'lines' | 'texts' | 'streams', Matcher>)
    | undefined;
  /** Building the matchers costs more than using them on a line. */
  const matchers = () => {
    const values = listed.values();
    if (
      known === undefined ||
      known.values.length !== values.length ||
      values.some((value, at) => known?.values[at] !== value)
    )
      known = {
        values,
        lines: matcherFor(values),
        texts: matcherFor([...values, ...inValues]),
        streams: matcherFor([...values, ...own]),
      };
    return known;
  };
  return (): StartSecrets => ({
    fill: (text, use) =>
      text.replaceAll(REFERENCE, (_, name: string) => {
        const value = valueOf(table, name, use);
        listed.add(value);
        return value;
      }),
    hideListed: (line) => (table.size === 0 ? line : hideSecrets(matchers().lines, line)),
    hideIn: <Value>(value: Value): Value =>
      mapTexts(value, (text) => hideSecrets(matchers().texts, text)) as Value,
    hiddenStream: () => hideStream(matchers().streams),
  });
};

export const withoutSecrets = createSecrets(new Map());
