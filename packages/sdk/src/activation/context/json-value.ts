import { type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { type Json, JSON_LEVELS_MAX } from '@holdpoint/contracts/values/json';

const NAME_MAX = 60;

const nameOf = (value: object): string => {
  const made: unknown = Object.getPrototypeOf(value);
  if (made === null || typeof made !== 'object') return 'an object';
  const { constructor } = made as { readonly constructor?: unknown };
  return typeof constructor === 'function' && constructor.name !== ''
    ? `an instance of ${constructor.name.slice(0, NAME_MAX).toWellFormed()}`
    : 'an object of a class';
};

const isPlain = (value: object): boolean => {
  const made: unknown = Object.getPrototypeOf(value);
  return made === null || made === Object.prototype;
};

const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/** The first part of a value that JSON cannot represent, with its path; undefined when there is none. */
const problemIn = (
  value: unknown,
  path: string,
  above: ReadonlySet<object>,
  lenient: boolean,
): string | undefined => {
  switch (typeof value) {
    case 'boolean':
      return undefined;
    case 'string':
      return isText(value) ? undefined : `${path}: a text with NUL or half a character`;
    case 'number':
      return Number.isFinite(value) ? undefined : `${path}: ${String(value)}`;
    case 'object':
      return value === null ? undefined : problemInside(value, path, above, lenient);
    default:
      return `${path}: ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`;
  }
};

const problemInside = (
  value: object,
  path: string,
  above: ReadonlySet<object>,
  lenient: boolean,
): string | undefined => {
  if (above.has(value)) return `${path}: a cycle`;
  if (above.size >= JSON_LEVELS_MAX) return `${path}: more than ${String(JSON_LEVELS_MAX)} levels`;
  const inside = new Set([...above, value]);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const problem = problemIn(value[index], `${path}[${String(index)}]`, inside, lenient);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (!isPlain(value)) return `${path}: ${nameOf(value)}`;
  if (Object.getOwnPropertySymbols(value).length > 0) return `${path}: a symbol`;
  for (const [name, each] of Object.entries(value)) {
    if (!isText(name)) return `${path}: a name with NUL or half a character`;
    if (lenient && each === undefined) continue;
    const problem = problemIn(each, `${path}.${name.slice(0, NAME_MAX).toWellFormed()}`, inside, lenient);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

type Kind = { readonly code: ErrorCode; readonly what: string; readonly lenient?: boolean };

/**
 * A copy of a value as it will be stored. Throws `HoldpointError` with the given code if JSON would drop or
 * change a part. `lenient`: undefined properties are dropped.
 */
export const toJson = (value: unknown, { code, what, lenient = false }: Kind): Json => {
  const problem = problemIn(value, what, new Set(), lenient);
  if (problem !== undefined) throw new HoldpointError(code, `cannot be stored as JSON: ${problem}`);
  return JSON.parse(JSON.stringify(value)) as Json;
};

export const jsonBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));
