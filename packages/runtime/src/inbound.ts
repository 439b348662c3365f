import { type CommandOf, commands, facts } from '@holdpoint/contracts/catalog';
import { HoldpointError } from '@holdpoint/contracts/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/streams';
import type { ServiceName } from '@holdpoint/contracts/subjects';
import { z } from 'zod';

/** What identifies a message whatever happens to it: its own id, or else where it stood in its stream and since when. */
export type Meta = { readonly identity: string };

export type Routed<Message> = {
  readonly aggregate: string;
  readonly message: Message;
  /** Called once the message's fate is known, whatever it is: gives back what was reserved for it. */
  readonly released?: () => void;
};

const decoder = new TextDecoder('utf-8', { fatal: true });

// JSON can spell out half of a character, which no canonical form has, and NUL, which PostgreSQL does not store. They are
// looked for only where one may be.
const SPELT_OUT = /\\u(?:0000|[dD][89a-fA-F])/;
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
const onlyText = (key: string, value: unknown): unknown => {
  if (isText(key) && (typeof value !== 'string' || isText(value))) return value;
  throw new SyntaxError('NUL, or half of a character');
};

/** Bytes to JSON. Throws `CONTRACT_PAYLOAD_TOO_LARGE` or `CONTRACT_NOT_JSON`. */
export const parseJson = (data: Uint8Array): unknown => {
  if (data.length > PAYLOAD_MAX_BYTES) {
    throw new HoldpointError(
      'CONTRACT_PAYLOAD_TOO_LARGE',
      `the body has ${String(data.length)} bytes, at most ${String(PAYLOAD_MAX_BYTES)} are taken`,
    );
  }
  try {
    const text = decoder.decode(data);
    return JSON.parse(text, SPELT_OUT.test(text) ? onlyText : undefined) as unknown;
  } catch (cause) {
    throw new HoldpointError('CONTRACT_NOT_JSON', 'the body is not JSON in UTF-8', { cause });
  }
};

/** Unknown to typed. Throws `CONTRACT_INVALID`, with every problem and its path. */
export const parseAs = <Schema extends z.ZodType>(schema: Schema, payload: unknown): z.output<Schema> => {
  const { success, data, error } = safely(schema, payload);
  if (success) return data;
  const problems = error.issues
    .slice(0, 20)
    .map(({ path, message }) => `${path.join('.') || '(body)'}: ${message}`);
  throw new HoldpointError('CONTRACT_INVALID', problems.join('; '), { details: { problems } });
};

/** A value that is nested thousands of levels deep overflows the stack of whoever walks it: wrong like any other. */
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

/** Parses what came on `hp.cmd.<aggregate>.<command>[.<pool>]`. */
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
 * Parses what came on `hp.evt.<aggregate>.<event>.<id>`. A fact of a newer version whose type is not known here
 * is not for us: undefined.
 */
export const parseFact = <S extends ServiceName>(
  service: S,
  subject: string,
  payload: unknown,
): z.output<(typeof facts)[S]> | undefined => {
  const event = subject.split('.')[3];
  const known: readonly z.core.$ZodType[] = facts[service].options;
  const named = (option: z.core.$ZodType): boolean =>
    option instanceof z.ZodObject &&
    option.shape['type'] instanceof z.ZodLiteral &&
    option.shape['type'].value === event;
  return known.some(named) ? (parseAs(facts[service], payload) as z.output<(typeof facts)[S]>) : undefined;
};
