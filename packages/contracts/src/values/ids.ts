import { hash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { TOKEN } from '../bus/subjects.ts';

const token = <Brand extends string>() =>
  z.string().regex(TOKEN, 'letters, digits, - and _, at most 64').brand<Brand>();

const REPOSITORY = /^r-[0-9a-z]{16}$/;
const CIRCUIT = /^o-[0-9a-z]{16}$/;
const RULE = /^u-[0-9a-z]{10}$/;
const ACCESS_TOKEN = /^k-[0-9a-z]{10}$/;
const EXECUTOR_KEY = /^x-[0-9a-z]{10}$/;
const CAPABILITY = /^p-[0-9a-z]{10}$/;
const CALLBACK = /^w-[0-9a-z]{16}$/;

/** Task ids share stores with registry and circuit ids, so they must not look like those. */
export const TaskId = token<'TaskId'>()
  .refine((id) => !REPOSITORY.test(id), 'not the id of a repository')
  .refine((id) => !CIRCUIT.test(id), 'not the id of a circuit');
export type TaskId = z.infer<typeof TaskId>;
export const NodeId = token<'NodeId'>();
export type NodeId = z.infer<typeof NodeId>;
/** Id of the audit log among approvals. */
export const AUDIT_ID = 'audit-log';
/** Id of the people among approvals. */
export const PEOPLE_ID = 'people';
/** Approval ids share a store with rules, tokens and the audit log, so they must not look like those. */
export const ApprovalId = token<'ApprovalId'>()
  .refine((id) => !RULE.test(id), 'not the id of a rule')
  .refine((id) => !ACCESS_TOKEN.test(id), 'not the id of a token')
  .refine((id) => !EXECUTOR_KEY.test(id), 'not the id of an executor key')
  .refine((id) => !CAPABILITY.test(id), 'not the id of a capability')
  .refine((id) => !CALLBACK.test(id), 'not the id of a callback')
  .refine((id) => id !== AUDIT_ID, 'not the audit log')
  .refine((id) => id !== PEOPLE_ID, 'not the people');
export type ApprovalId = z.infer<typeof ApprovalId>;
/** Permanent id of an effect: hash of task, node and the author's key. */
export const EffectId = token<'EffectId'>();
export type EffectId = z.infer<typeof EffectId>;

/** One operator command, across resends of its message. */
export const CommandId = token<'CommandId'>();
export type CommandId = z.infer<typeof CommandId>;

/** A repository, by the path in its tasks. */
export const RepositoryId = z
  .string()
  .regex(REPOSITORY, 'r- and 16 letters or digits')
  .brand<'RepositoryId'>();
export type RepositoryId = z.infer<typeof RepositoryId>;

/** Circuit of an external target, by its name. */
export const CircuitId = z.string().regex(CIRCUIT, 'o- and 16 letters or digits').brand<'CircuitId'>();
export type CircuitId = z.infer<typeof CircuitId>;

/** A standing rule. */
export const RuleId = z.string().regex(RULE, 'u- and 10 letters or digits').brand<'RuleId'>();
export type RuleId = z.infer<typeof RuleId>;

/** An API token's public id, not its secret. */
export const AccessTokenId = z
  .string()
  .regex(ACCESS_TOKEN, 'k- and 10 letters or digits')
  .brand<'AccessTokenId'>();
export type AccessTokenId = z.infer<typeof AccessTokenId>;

/** The key of an enrolled executor. */
export const ExecutorKeyId = z
  .string()
  .regex(EXECUTOR_KEY, 'x- and 10 letters or digits')
  .brand<'ExecutorKeyId'>();
export type ExecutorKeyId = z.infer<typeof ExecutorKeyId>;

/** A remote capability, by its name. */
export const CapabilityId = z
  .string()
  .regex(CAPABILITY, 'p- and 10 letters or digits')
  .brand<'CapabilityId'>();
export type CapabilityId = z.infer<typeof CapabilityId>;

/** A callback of a held effect. */
export const CallbackId = z.string().regex(CALLBACK, 'w- and 16 letters or digits').brand<'CallbackId'>();
export type CallbackId = z.infer<typeof CallbackId>;

// Crockford's alphabet: no letter looks like a digit, so ids can be typed.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** The first `length` characters (5 bits each) of the SHA-256 over the parts: short enough to type. */
const shortHash = (parts: readonly string[], length: number): string => {
  // Length-prefixed, so that ('ab','c') and ('a','bc') differ.
  const text = parts.map((part) => `${String(part.length)}:${part}`).join('');
  const bytes = hash('sha256', text, 'binary');
  let id = '';
  for (let i = 0; i < length; i += 1) id += ALPHABET.charAt(bytes.charCodeAt(i) & 31);
  return id;
};

/** A UUID of version 7. One of a later millisecond is greater. */
export const orderedUuid = (now = Date.now()): string => {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

/** Until the year 2109, 7 characters count the ticks since 1970. */
const TIME_LENGTH = 7;
/** Length of the hash behind a time. */
const TIMED_HASH_LENGTH = 10;
const TICK_MS = 128;

const timeText = (ms: number): string => {
  let ticks = Math.floor(ms / TICK_MS);
  let text = '';
  for (let i = 0; i < TIME_LENGTH; i += 1) {
    text = ALPHABET.charAt(ticks % 32) + text;
    ticks = Math.floor(ticks / 32);
  }
  return text;
};

const UUID_7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/i;
const TIMED = new RegExp(
  `^[aet]-([${ALPHABET}]{${String(TIME_LENGTH)}})[${ALPHABET}]{${String(TIMED_HASH_LENGTH)}}$`,
);

/** The time that a UUID of version 7 or an id of a task, approval or effect begins with. */
const timeIn = (text: string): string | undefined => {
  const [, high, low] = UUID_7.exec(text) ?? [];
  if (high !== undefined && low !== undefined) return timeText(Number.parseInt(high + low, 16));
  return TIMED.exec(text)?.[1];
};

/** `text` behind the UUID of version 7 that `origin` begins with, so that ids from it have its time. */
export const withTimeOf = (origin: string, text: string): string => {
  const uuid = UUID_7.exec(origin)?.[0];
  return uuid === undefined ? text : `${uuid}-${text}`;
};

/**
 * An id begins with the time of its origin, if that has one: ids of one time are neighbours in every index (decision 53). Without a
 * time the hash has `length` characters.
 */
const derivedId = <Id extends string>(
  letter: string,
  origin: string,
  parts: readonly string[],
  length: number,
): Id => {
  const time = timeIn(origin);
  const text =
    time === undefined ? shortHash(parts, length) : `${time}${shortHash(parts, TIMED_HASH_LENGTH)}`;
  return `${letter}-${text}` as Id;
};

/** Task id for submissions without one, derived from the message: a repeat finds the same task. */
export const taskIdFrom = (submission: string): TaskId => derivedId('t', submission, [submission], 12);

/** A new id for a task whose submission is not repeated under another id. */
export const newTaskId = (): TaskId => taskIdFrom(orderedUuid());

/** Derived from the message identity, so a redelivery is recognized. */
export const commandIdOf = (kind: string, identity: string): CommandId =>
  `c-${shortHash([kind, identity], 16)}` as CommandId;

/** One approval for one revision of one node's effect. */
export const approvalIdOf = (task: TaskId, node: NodeId, revision: number): ApprovalId =>
  derivedId('a', task, [task, node, String(revision)], 10);

/** A question about an in-doubt effect. A withdrawn or expired question is followed by the next number. */
export const doubtIdOf = (effect: EffectId, epoch: number, question = 1): ApprovalId => {
  const parts = ['doubt', effect, String(epoch), ...(question > 1 ? [String(question)] : [])];
  return derivedId('a', effect, parts, 10);
};

/** One question about one job that is stuck. */
export const stuckIdOf = (task: TaskId, node: NodeId, question: number): ApprovalId =>
  derivedId('a', task, ['stuck', task, node, String(question)], 10);

/** The task that rolls a worktree back before another attempt. */
export const rollbackIdOf = (task: TaskId, node: NodeId, attempt: number): TaskId =>
  derivedId('t', task, ['rollback', task, node, String(attempt)], 12);

/** A question of a TypeScript workflow. */
export const inputIdOf = (task: TaskId, question: number): ApprovalId =>
  derivedId('a', task, ['input', task, String(question)], 10);

/** The task that executes an effect of a TypeScript workflow; a failed one may be followed by another. */
export const effectTaskIdOf = (task: TaskId, idempotencyKey: string, asked: number): TaskId =>
  derivedId('t', task, ['effect', task, idempotencyKey, String(asked)], 12);

/** The task of an effect that is held without a workflow: the same for the same key of a capability. */
export const heldTaskIdOf = (capability: string, key: string): TaskId =>
  derivedId('t', key, ['held', capability, key], 12);

/** Without the attempt on purpose: otherwise each retry would apply the effect again. */
export const effectIdOf = (task: TaskId, node: NodeId, idempotencyKey: string): EffectId =>
  derivedId('e', task, [task, node, idempotencyKey], 16);

export const repositoryIdOf = (path: string): RepositoryId =>
  `r-${shortHash(['repository', path], 16)}` as RepositoryId;

export const circuitIdOf = (target: string): CircuitId =>
  `o-${shortHash(['circuit', target], 16)}` as CircuitId;

/** The same id for a repeated command. Command ids are scoped to their person. */
export const ruleIdOf = (author: string, command: string): RuleId =>
  `u-${shortHash(['rule', author, command], 10)}` as RuleId;

/** The rule created with a decision. */
export const rememberedIdOf = (approval: ApprovalId): RuleId =>
  `u-${shortHash(['remembered', approval], 10)}` as RuleId;

/** Derived from the secret's hash: one secret is one token. */
export const accessTokenIdOf = (sha256: string): AccessTokenId =>
  `k-${shortHash(['access token', sha256], 10)}` as AccessTokenId;

/** Derived from the public key: one key is enrolled once. */
export const executorKeyIdOf = (publicKey: string): ExecutorKeyId =>
  `x-${shortHash(['executor key', publicKey], 10)}` as ExecutorKeyId;

/** Derived from the name: one name is one capability. */
export const capabilityIdOf = (name: string): CapabilityId =>
  `p-${shortHash(['capability', name], 10)}` as CapabilityId;

/** The callback about one version of a task: a restarted task ends again. */
export const callbackIdOf = (task: TaskId, version: number): CallbackId =>
  `w-${shortHash(['callback', task, String(version)], 16)}` as CallbackId;

/** A node within a task, as shown to users. */
export const jobOf = (task: string, node: string): string => `${task}/${node}`;
