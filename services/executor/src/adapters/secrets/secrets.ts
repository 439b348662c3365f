import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure, type HiddenStream, type Secrets } from '../../ports/capability.ts';
import { hideStream } from './hide-stream.ts';
import { hideForms, ownForms } from './redact.ts';
import { SECRET_CHARACTERS_MIN, secretForms } from './secret-forms.ts';
import type { SecretTable } from './secret-table.ts';

/** The secrets of one start. They are hidden in all its output and results. */
export interface StartSecrets extends Secrets {
  /** Hides filled secrets in a line. The caller hides all other secrets. */
  readonly hideFilled: (line: string) => string;
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

/** Creates the secrets of a start. `own` are the executor's own secrets: always hidden, never filled in. */
export const createSecrets = (table: SecretTable, own: readonly string[] = []) => {
  const always = ownForms(own);
  const inValues = ownForms(own.filter((secret) => secret.trim().length >= OWN_CHARACTERS_MIN));
  return (): StartSecrets => {
    let filled: readonly string[] = [];
    const remember = (value: string): void => {
      if (filled.includes(value)) return;
      const forms = new Set([...filled, ...secretForms(value)]);
      filled = [...forms].sort((one, other) => other.length - one.length);
    };
    return {
      fill: (text, use) =>
        text.replaceAll(REFERENCE, (_, name: string) => {
          const value = valueOf(table, name, use);
          remember(value);
          return value;
        }),
      hideFilled: (line) => (filled.length === 0 ? line : hideForms(filled, line)),
      hideIn: <Value>(value: Value): Value =>
        mapTexts(value, (text) => hideForms(inValues, hideForms(filled, text))) as Value,
      hiddenStream: () => hideStream([...filled, ...always]),
    };
  };
};

export const withoutSecrets = createSecrets(new Map());
