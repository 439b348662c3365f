import { createHash } from 'node:crypto';
import { z } from 'zod';

/** What may stand as one token of a NATS subject: no dot, no wildcard, no white space. */
export const TOKEN = /^[A-Za-z0-9_-]{1,64}$/;

const token = <Brand extends string>() =>
  z.string().regex(TOKEN, 'letters, digits, - and _, at most 64').brand<Brand>();

const REPOSITORY = /^r-[0-9a-z]{16}$/;
const CIRCUIT = /^o-[0-9a-z]{16}$/;
const RULE = /^u-[0-9a-z]{10}$/;
const ACCESS_TOKEN = /^k-[0-9a-z]{10}$/;

/** Tasks are kept beside boards, and their failures beside circuits: whoever may name a task may name neither of those. */
export const TaskId = token<'TaskId'>()
  .refine((id) => !REPOSITORY.test(id), 'not the id of a repository')
  .refine((id) => !CIRCUIT.test(id), 'not the id of a circuit');
export type TaskId = z.infer<typeof TaskId>;
export const NodeId = token<'NodeId'>();
export type NodeId = z.infer<typeof NodeId>;
/** What has anchored the audit log is kept beside approvals, under this name. */
export const AUDIT_ID = 'audit-log';
/** Approvals are kept beside standing rules, access tokens and the audit log: whoever may name one may name none of those. */
export const ApprovalId = token<'ApprovalId'>()
  .refine((id) => !RULE.test(id), 'not the id of a rule')
  .refine((id) => !ACCESS_TOKEN.test(id), 'not the id of a token')
  .refine((id) => id !== AUDIT_ID, 'not the audit log');
export type ApprovalId = z.infer<typeof ApprovalId>;
/** Identifies one effect for ever: the hash of task, node and the key that its author chose. */
export const EffectId = token<'EffectId'>();
export type EffectId = z.infer<typeof EffectId>;

/** One command given by hand, whatever becomes of the message that carries it. */
export const CommandId = token<'CommandId'>();
export type CommandId = z.infer<typeof CommandId>;

/** A repository, by the path that its tasks name it with. */
export const RepositoryId = z
  .string()
  .regex(REPOSITORY, 'r- and 16 letters or digits')
  .brand<'RepositoryId'>();
export type RepositoryId = z.infer<typeof RepositoryId>;

/** The circuit of one outside target, by the target's name. */
export const CircuitId = z.string().regex(CIRCUIT, 'o- and 16 letters or digits').brand<'CircuitId'>();
export type CircuitId = z.infer<typeof CircuitId>;

/** A standing rule. */
export const RuleId = z.string().regex(RULE, 'u- and 10 letters or digits').brand<'RuleId'>();
export type RuleId = z.infer<typeof RuleId>;

/** An API token: not the secret itself, but what it is called by. */
export const AccessTokenId = z
  .string()
  .regex(ACCESS_TOKEN, 'k- and 10 letters or digits')
  .brand<'AccessTokenId'>();
export type AccessTokenId = z.infer<typeof AccessTokenId>;

// Crockford's alphabet: no letter that reads like a digit, so that a person can type an id from a screen.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** The first `length` characters (5 bits each) of the SHA-256 over the parts, for ids that a person may have to type. */
const shortHash = (parts: readonly string[], length: number): string => {
  // Length-prefixed, so that ('ab','c') and ('a','bc') differ.
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${String(part.length)}:${part}`);
  const bytes = hash.digest();
  let id = '';
  for (let i = 0; i < length; i += 1) id += ALPHABET.charAt((bytes[i] ?? 0) & 31);
  return id;
};

/** The id of a task whose submitter named none: derived from what identifies the submission, so a repeat finds the same task. */
export const taskIdFrom = (submission: string): TaskId => `t-${shortHash([submission], 12)}` as TaskId;

/** Derived from the identity of the message, so that a redelivery is known for what it is, whatever it is about. */
export const commandIdOf = (kind: string, identity: string): CommandId =>
  `c-${shortHash([kind, identity], 16)}` as CommandId;

/** One approval for one revision of one node's effect. */
export const approvalIdOf = (task: TaskId, node: NodeId, revision: number): ApprovalId =>
  `a-${shortHash([task, node, String(revision)], 10)}` as ApprovalId;

/** One question about one doubt of one effect. One that was withdrawn, or has expired, is put anew as the next of its node. */
export const doubtIdOf = (effect: EffectId, epoch: number, question = 1): ApprovalId => {
  const parts = ['doubt', effect, String(epoch), ...(question > 1 ? [String(question)] : [])];
  return `a-${shortHash(parts, 10)}` as ApprovalId;
};

/** One question about one job that is stuck. */
export const stuckIdOf = (task: TaskId, node: NodeId, question: number): ApprovalId =>
  `a-${shortHash(['stuck', task, node, String(question)], 10)}` as ApprovalId;

/** The task that takes a worktree back before another attempt. */
export const rollbackIdOf = (task: TaskId, node: NodeId, attempt: number): TaskId =>
  `t-${shortHash(['rollback', task, node, String(attempt)], 12)}` as TaskId;

/** One question of one task of a program. */
export const inputIdOf = (task: TaskId, question: number): ApprovalId =>
  `a-${shortHash(['input', task, String(question)], 10)}` as ApprovalId;

/** The task that carries out an effect of a program; one that did not happen may be asked for anew. */
export const effectTaskIdOf = (task: TaskId, idempotencyKey: string, asked: number): TaskId =>
  `t-${shortHash(['effect', task, idempotencyKey, String(asked)], 12)}` as TaskId;

/** The attempt is left out on purpose: a key that changed with it would turn every retry into a second application. */
export const effectIdOf = (task: TaskId, node: NodeId, idempotencyKey: string): EffectId =>
  `e-${shortHash([task, node, idempotencyKey], 16)}` as EffectId;

export const repositoryIdOf = (path: string): RepositoryId =>
  `r-${shortHash(['repository', path], 16)}` as RepositoryId;

export const circuitIdOf = (target: string): CircuitId =>
  `o-${shortHash(['circuit', target], 16)}` as CircuitId;

/** The same rule when the command that adds it comes again. What one person calls a command, nobody else can. */
export const ruleIdOf = (author: string, command: string): RuleId =>
  `u-${shortHash(['rule', author, command], 10)}` as RuleId;

/** The rule that was made with the decision on an approval. */
export const rememberedIdOf = (approval: ApprovalId): RuleId =>
  `u-${shortHash(['remembered', approval], 10)}` as RuleId;

/** By the hash of the secret, so that one secret is one token. */
export const accessTokenIdOf = (sha256: string): AccessTokenId =>
  `k-${shortHash(['access token', sha256], 10)}` as AccessTokenId;

/** One node within one task, as people name it. */
export const jobOf = (task: string, node: string): string => `${task}/${node}`;
