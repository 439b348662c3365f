import { z } from 'zod';
import { ApprovalId, TaskId } from '../values/ids.ts';
import { digestOf } from '../values/json.ts';
import { Page } from '../values/page.ts';
import { ApprovalPolicy } from '../workflow/approval-policy.ts';
import { Audience } from '../workflow/audience.ts';
import { SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { ApprovalStatus } from './status.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const PATTERNS_MAX = 50;
const ENTRIES_MAX = 200;

/** Text in which `*` matches any text. */
const Patterns = z.array(z.string().min(1).max(512)).min(1).max(PATTERNS_MAX);

const Place = z.strictObject({
  kinds: z.array(SideEffectKind).min(1).optional(),
  capabilities: Patterns.optional(),
  /**
   * Targets that the arguments name. An effect whose arguments name none matches every pattern here, and none of an
   * exception.
   */
  targets: Patterns.optional(),
});

/** One demand of the organisation. An entry without `match` covers every request. */
export const FloorEntry = z
  .strictObject({
    /** Shown with every request that the entry covers. */
    name: z.string().trim().min(1).max(100),
    /** All conditions must hold. The name of a workflow is the submitter's choice. */
    match: Place.extend({ workflows: Patterns.optional() }).optional(),
    /** Requests that the entry leaves out. */
    except: z
      .array(
        Place.extend({
          /** Rollbacks that the recovery service has decided on. */
          verdict: z.literal(true).optional(),
        }).refine((place) => Object.keys(place).length > 0, 'names nothing: it would leave out everything'),
      )
      .min(1)
      .max(PATTERNS_MAX)
      .optional(),
    /** Deciders have to be in this audience and in that of the request. */
    audience: Audience.optional(),
    /** Least number of different approvers. */
    quorum: z.int().min(1).max(20).optional(),
    /** The requester may not decide. */
    fourEyes: z.literal(true).optional(),
    /** `false`: no standing rule decides. */
    rules: z.literal(false).optional(),
    /** Longest time that a request stays open. */
    timeoutMsMax: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  })
  .refine(
    ({ audience, quorum, fourEyes, rules, timeoutMsMax }) =>
      [audience, quorum, fourEyes, rules, timeoutMsMax].some((demand) => demand !== undefined),
    'demands nothing: name audience, quorum, fourEyes, rules or timeoutMsMax',
  );
export type FloorEntry = z.infer<typeof FloorEntry>;

/** What the organisation demands of approvals. Requests may be stricter, never weaker. */
export const PolicyFloor = z.strictObject({
  floor: z
    .array(FloorEntry)
    .max(ENTRIES_MAX)
    .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, 'each name once'),
});
export type PolicyFloor = z.infer<typeof PolicyFloor>;

const PROBLEMS_SHOWN = 20;

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (text, part) =>
      typeof part === 'number'
        ? `${text}[${String(part)}]`
        : text === ''
          ? String(part)
          : `${text}.${String(part)}`,
    '',
  );

/** Whether the beginning of a file is wrong already, and not only incomplete. */
const isWrong = (beginning: string): boolean => {
  try {
    JSON.parse(beginning);
    return false;
  } catch (error) {
    const { message } = error as SyntaxError;
    if (/end of JSON input|Unterminated/.test(message)) return false;
    const at = /position (\d+)/.exec(message)?.[1];
    return at === undefined || Number(at) < beginning.trimEnd().length;
  }
};

/** The line of the first syntax error, from 1: the parser does not always name it. */
const lineOfError = (text: string): number => {
  const lines = text.split('\n');
  let [low, high] = [1, lines.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isWrong(lines.slice(0, middle).join('\n'))) high = middle;
    else low = middle + 1;
  }
  return low;
};

const problemOf = (error: unknown, text: string): string => {
  if (!(error instanceof z.ZodError)) return `line ${String(lineOfError(text))}: not JSON`;
  const { issues } = error;
  const shown = issues
    .slice(0, PROBLEMS_SHOWN)
    .map(({ path, message }) => `${pathOf(path) || 'the file'}: ${message}`);
  const rest = issues.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${String(rest)} more`] : [])].join('; ');
};

/** Throws `TypeError` with the line of a syntax error, or with the path of every other one. */
export const parsePolicyFloor = (text: string): PolicyFloor => {
  try {
    return PolicyFloor.parse(JSON.parse(text));
  } catch (cause) {
    throw new TypeError(problemOf(cause, text), { cause });
  }
};

/** SHA-256 of the canonical form (RFC 8785). */
export const floorDigest = (floor: PolicyFloor): string => digestOf(floor);

/** The demands that a floor can raise. */
export const FloorDemand = z.enum(['audience', 'quorum', 'fourEyes', 'rules', 'timeout']);
export type FloorDemand = z.infer<typeof FloorDemand>;

/** The floor of a request, as it was when the request arrived. */
export const RequestFloor = z.object({
  digest: Sha256,
  /** Names of the entries that cover the request. */
  entries: z.array(z.string()).optional(),
  /** Demands of the floor that exceed those of the requester. */
  raised: z.array(FloorDemand).optional(),
  /** Audiences of the floor: a decider has to be in each. */
  within: z.array(Audience).optional(),
  /** What the requester asked for, where the floor raised it. */
  asked: z
    .object({
      audience: z.array(z.string()),
      timeoutMs: z.int(),
      policy: ApprovalPolicy.optional(),
    })
    .optional(),
});
export type RequestFloor = z.infer<typeof RequestFloor>;

/** The floor in force. */
export const PolicyView = z.object({
  digest: Sha256,
  /** `default`: built in, because no file is set. */
  source: z.enum(['default', 'file']),
  floor: PolicyFloor,
  /** Why the latest content of the file is not in force. */
  problem: z.string().optional(),
});
export type PolicyView = z.infer<typeof PolicyView>;

/** Evaluates a floor against the requests of the latest days, latest first. */
export const TestPolicy = Page.extend({
  floor: PolicyFloor.optional(),
  days: z.int().min(1).max(365).default(30),
});
export type TestPolicy = z.infer<typeof TestPolicy>;

/** Why a decision would not have counted. */
export const FloorBreach = z.enum(['audience', 'quorum', 'fourEyes', 'rules', 'timeout', 'unreachable']);
export type FloorBreach = z.infer<typeof FloorBreach>;

/** One request that a floor would have changed. */
export const PolicyImpact = z.object({
  id: ApprovalId,
  task: TaskId,
  title: z.string(),
  kind: z.string(),
  uses: z.string(),
  target: z.string(),
  requestedBy: z.string(),
  requestedAt: z.int(),
  status: ApprovalStatus,
  decidedBy: z.string().optional(),
  entries: z.array(z.string()),
  /** Demands beyond those that were in force. */
  stricter: z.array(FloorDemand),
  /** Demands that were in force and would not have been. */
  weaker: z.array(FloorDemand),
  /** Why the approval that was given would not have counted. */
  breaks: z.array(FloorBreach),
});
export type PolicyImpact = z.infer<typeof PolicyImpact>;

export const PolicyImpacts = z.object({
  digest: Sha256,
  /** Requests that this page looked at. */
  examined: z.int(),
  items: z.array(PolicyImpact),
  next: z.string().optional(),
});
export type PolicyImpacts = z.infer<typeof PolicyImpacts>;
