import { type CommandOf, commands } from '@holdpoint/contracts/catalog/commands';
import { events } from '@holdpoint/contracts/catalog/events';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { z } from 'zod';
import type { Addressed } from './kinds.ts';

/** Identifies a message across its deliveries: its own id, or its stream, position and time. */
export type Meta = { readonly identity: string };

/** A message as it arrived. A dead letter that is handled again has neither headers nor a time. */
export type Arrival = Meta & {
  readonly arrived?: {
    /** When the bus stored it, in epoch milliseconds. */
    readonly at: number;
    readonly header: (name: string) => string | undefined;
  };
};

/** A message for the engine, addressed to an aggregate. */
export type Routed<To extends Addressed> = To & {
  /** It cannot be decided yet: it is delivered again, with growing delay, until `defer` is no longer set. */
  readonly defer?: boolean;
  /** Called once the message is committed, failed or unavailable: releases its reservations. */
  readonly onDone?: () => void;
  /**
   * Returns the message with the facts of this moment. Called at each decision, so also when the store refused a batch and
   * it is decided again. Left out: `message` is decided.
   */
  readonly refresh?: () => To['message'];
  /**
   * Slices of work that need not hold up other messages; the result is the message to decide. The decision must be the same
   * without it.
   */
  readonly prepare?: () => Generator<void, To['message']>;
  /** The `traceparent` of its cause. */
  readonly trace?: string | undefined;
  /** The key that sealed it. Left out: a command of a person, or a call of the API. */
  readonly sealKey?: string | undefined;
};

const decoder = new TextDecoder('utf-8', { fatal: true });

// JSON can escape half of a surrogate pair, which has no canonical form, and NUL, which PostgreSQL does not
// store. Only bodies with such an escape are searched.
const SPELT_OUT = /\\u(?:0000|[dD][89a-fA-F])/;
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
const onlyText = (key: string, value: unknown): unknown => {
  if (isText(key) && (typeof value !== 'string' || isText(value))) return value;
  throw new SyntaxError('NUL, or half of a character');
};

/**
 * Maximum nesting of a body: far more than any message has, and far less than exhausts the stack of a
 * recursive function.
 */
export const NESTING_MAX = 64;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
// Square and curly brackets differ in one bit.
const [CURLY, OPENS, CLOSES] = [0x20, 0x7b, 0x7d];

/** Counts brackets outside of strings, before the body is parsed. */
const isTooDeep = (data: Uint8Array): boolean => {
  let [depth, inText] = [0, false];
  for (let i = 0; i < data.length; i += 1) {
    const byte = data[i] ?? 0;
    if (inText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inText = false;
    } else if (byte === QUOTE) inText = true;
    else if ((byte | CURLY) === OPENS) {
      depth += 1;
      if (depth > NESTING_MAX) return true;
    } else if ((byte | CURLY) === CLOSES) depth -= 1;
  }
  return false;
};

/** Bytes to JSON. Throws `CONTRACT_PAYLOAD_TOO_LARGE`, `CONTRACT_INVALID` (nested too deeply) or `CONTRACT_NOT_JSON`. */
export const parseJson = (data: Uint8Array): unknown => {
  if (data.length > PAYLOAD_MAX_BYTES) {
    throw new HoldpointError(
      'CONTRACT_PAYLOAD_TOO_LARGE',
      `the body has ${String(data.length)} bytes, at most ${String(PAYLOAD_MAX_BYTES)} are taken`,
    );
  }
  if (isTooDeep(data)) throw new HoldpointError('CONTRACT_INVALID', '(body): nested too deeply');
  try {
    const text = decoder.decode(data);
    return JSON.parse(text, SPELT_OUT.test(text) ? onlyText : undefined) as unknown;
  } catch (cause) {
    throw new HoldpointError('CONTRACT_NOT_JSON', 'the body is not JSON in UTF-8', { cause });
  }
};

/** Validates a payload. Throws `CONTRACT_INVALID`, with every problem and its path. */
export const parseAs = <Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> => {
  const { success, data, error } = safely(schema, payload);
  if (success) return data;
  const problems = error.issues.slice(0, PROBLEMS_MAX).map(problemOf);
  throw new HoldpointError('CONTRACT_INVALID', problems.join('; '), { details: { problems } });
};

const PROBLEMS_MAX = 20;
const PATH_MAX = 100;

/** A path contains names that the sender chose, so it is cut. */
const problemOf = ({ path, message }: z.core.$ZodIssue): string => {
  const where = path.map(String).join('.') || '(body)';
  const shown = where.length <= PATH_MAX ? where : `${where.slice(0, PATH_MAX).toWellFormed()}…`;
  return `${shown}: ${message}`;
};

/**
 * A value that is nested thousands of levels deep overflows the stack: it is refused like any invalid one.
 */
const safely = <Schema extends z.ZodType>(
  schema: Schema,
  payload: unknown,
): z.ZodSafeParseResult<z.output<Schema>> => {
  try {
    return schema.safeParse(payload);
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new HoldpointError('CONTRACT_INVALID', '(body): nested too deeply', { cause });
    throw cause;
  }
};

/** Parses a command on `hp.cmd.<aggregate>.<command>[.<pool>]`. */
export const parseCommand = <S extends ServiceName>(
  service: S,
  subject: string,
  payload: unknown,
): CommandOf<S> => {
  const kind = subject.split('.')[3] ?? '';
  const schemas: Readonly<Record<string, z.ZodType>> = commands[service];
  const schema = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
  if (schema === undefined)
    throw new HoldpointError('CONTRACT_UNKNOWN_SUBJECT', `${service} knows no command on this subject`);
  return { kind, payload: parseAs(schema, payload) } as CommandOf<S>;
};

/**
 * Parses an event on `hp.evt.<aggregate>.<event>.<id>`. Undefined for a type that only a newer version knows.
 */
export const parseFact = <S extends ServiceName>(
  service: S,
  subject: string,
  payload: unknown,
): z.output<(typeof events)[S]> | undefined => {
  const event = subject.split('.')[3];
  const known: readonly z.core.$ZodType[] = events[service].options;
  const named = (option: z.core.$ZodType): boolean =>
    option instanceof z.ZodObject &&
    option.shape['type'] instanceof z.ZodLiteral &&
    option.shape['type'].value === event;
  return known.some(named) ? (parseAs(events[service], payload) as z.output<(typeof events)[S]>) : undefined;
};
