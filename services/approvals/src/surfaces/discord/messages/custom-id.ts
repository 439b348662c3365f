import type { Choice } from '@holdpoint/contracts/approval/commands';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { z } from 'zod';

/**
 * The action of a button or form. `decide` decides, optionally with a rule; `ask` opens a comment form and
 * `say` submits it; `pick` answers a program with an option; `open` opens its form and `fill` submits it.
 */
export type Press =
  | { readonly does: 'decide'; readonly choice: Choice; readonly remember?: true }
  | { readonly does: 'ask'; readonly choice: Extract<Choice, 'reject' | 'request_changes'> }
  | { readonly does: 'say'; readonly choice: Extract<Choice, 'reject' | 'request_changes'> }
  | { readonly does: 'pick'; readonly option: number }
  | { readonly does: 'open' }
  | { readonly does: 'fill' };

const PRESSES = {
  ok: { does: 'decide', choice: 'approve' },
  keep: { does: 'decide', choice: 'approve', remember: true },
  no: { does: 'decide', choice: 'reject' },
  did: { does: 'decide', choice: 'applied' },
  not: { does: 'decide', choice: 'not_applied' },
  again: { does: 'decide', choice: 'retry' },
  skip: { does: 'decide', choice: 'skip' },
  done: { does: 'decide', choice: 'done' },
  end: { does: 'decide', choice: 'cancel' },
  'no?': { does: 'ask', choice: 'reject' },
  'chg?': { does: 'ask', choice: 'request_changes' },
  'no!': { does: 'say', choice: 'reject' },
  'chg!': { does: 'say', choice: 'request_changes' },
  'in?': { does: 'open' },
  'in!': { does: 'fill' },
} as const satisfies Readonly<Record<string, Press>>;
/** Options are named by position: their values may be too long. */
export type PressName = keyof typeof PRESSES | `pick${number}`;

/** Discord's limit. */
const MAX = 100;
const DIGEST_CHARS = 12;

const isNamed = (name: string): name is keyof typeof PRESSES => Object.hasOwn(PRESSES, name);

const pressOf = (name = ''): Press | undefined => {
  const option = /^pick(?<option>0|[1-9]\d?)$/.exec(name)?.groups?.['option'];
  if (option !== undefined) return { does: 'pick', option: Number(option) };
  return isNamed(name) ? PRESSES[name] : undefined;
};

const Token = z.uuid({ version: 'v4' });

/** The content of a button's id. It is untrusted: every part is checked again. */
export type CustomId = {
  readonly press: Press;
  readonly id: ApprovalId;
  readonly token: string;
  /** The first characters of the digest that was shown. */
  readonly digest: string;
};

/** Undefined when the approval's id is too long. */
export const customId = (
  press: PressName,
  { id, digest, token }: { readonly id: string; readonly digest: string; readonly token: string },
): string | undefined => {
  const text = [press, digest.slice(0, DIGEST_CHARS), token, id].join('.');
  return text.length <= MAX ? text : undefined;
};

export const parseCustomId = (text: string): CustomId | undefined => {
  const [name, digest = '', token, id, ...rest] = text.split('.');
  const press = pressOf(name);
  const known = ApprovalId.safeParse(id);
  if (text.length > MAX || rest.length > 0 || press === undefined || !known.success) return undefined;
  const uuid = Token.safeParse(token);
  const isDigest = digest.length === DIGEST_CHARS && /^[0-9a-f]+$/.test(digest);
  return isDigest && uuid.success ? { press, id: known.data, token: uuid.data, digest } : undefined;
};
