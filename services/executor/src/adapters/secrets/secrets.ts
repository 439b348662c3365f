import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure, type HiddenStream, type Secrets } from '../../ports/capability.ts';
import { hideStream } from './hide-stream.ts';
import { hideForms, ownForms } from './redact.ts';
import { SECRET_CHARACTERS_MIN, secretForms } from './secret-forms.ts';
import type { SecretTable } from './secret-table.ts';

/** The secrets of one start, and what is hidden of all that it prints and gives. */
export interface StartSecrets extends Secrets {
  /** Takes what was filled in out of a line, which whoever hands it on looks through for everything else. */
  readonly hideFilled: (line: string) => string;
  /** Takes what may not be seen out of every text of a value, names of members too. */
  readonly hideIn: <Value>(value: Value) => Value;
  readonly hiddenStream: () => HiddenStream;
}

/** Values such as paths are worked with: a password that is an ordinary word is hidden in what is printed alone. */
const OWN_CHARACTERS_MIN = 16;
const REFERENCE = /\$\{secret:([^}]*)\}/g;

const unknown = (name: string, cause?: unknown): CleanFailure =>
  new CleanFailure(
    errorBody('EXECUTOR_SECRET_UNKNOWN', `this executor has no secret ${shownName(name)}`),
    cause,
  );
const unreadable = (name: string, cause: unknown): CleanFailure =>
  new CleanFailure(
    errorBody('EXECUTOR_SECRET_UNKNOWN', `the secret ${shownName(name)} cannot be read`),
    cause,
  );
const notAllowed = (name: string, why: string): CleanFailure =>
  new CleanFailure(errorBody('EXECUTOR_SECRET_NOT_ALLOWED', `the secret ${shownName(name)} ${why}`));

/** Of a name that somebody else has written. */
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
    `is shorter than ${String(SECRET_CHARACTERS_MIN)} characters, or holds a NUL, and could not be hidden`,
  );
};

/** The same value with another text in the place of each; what is no plain data stays as it is. */
const mapTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((inner) => mapTexts(inner, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [change(name), mapTexts(inner, change)]),
  );
};

/** Makes the secrets of a start. `own` is what the executor itself was handed: it is hidden always, and never filled in. */
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
      // The shape is the same: only texts change.
      hideIn: <Value>(value: Value): Value =>
        mapTexts(value, (text) => hideForms(inValues, hideForms(filled, text))) as Value,
      hiddenStream: () => hideStream([...filled, ...always]),
    };
  };
};

/** An executor that was given no secrets at all. */
export const withoutSecrets = createSecrets(new Map());
