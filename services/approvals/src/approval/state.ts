import type { ApprovalResolved, EffectOutcomeRecorded } from '@holdpoint/contracts/approval/events';
import type { CancelApproval, DecideApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { Notice, Surface, Vote } from '@holdpoint/contracts/approval/status';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { AccessTokenId, RuleId } from '@holdpoint/contracts/values/ids';
import type { RequestFloor } from '@holdpoint/contracts/approval/policy-floor';
import type { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import type { Risk } from '@holdpoint/contracts/effect/describe';
import type { TimerFired } from '@holdpoint/runtime/decider';
import type { RegisteredWords } from '../capability/admission.ts';
import type { CompiledFloor } from '../policy/compile-floor.ts';

export type Resolution = Omit<ApprovalResolved, 'type' | 'id' | 'task' | 'node' | 'revision'>;

/** Progress of a request beside its decision. */
type RequestProgress = {
  /** One for each person: the latest. */
  readonly votes: readonly Vote[];
  /** Everyone who may decide: the original audience and those added by escalations. */
  readonly audience: readonly string[];
  readonly reminders: number;
  readonly steps: number;
  /** Notices that were delivered or given up, each as `surface/notice/number`. */
  readonly notified: readonly string[];
  /** The surface's own message ids, by the same keys. */
  readonly references?: Readonly<Record<string, string>>;
  /** Refused attempts, each as `name/code`. */
  readonly refused: readonly string[];
  readonly outcome?: Pick<EffectOutcomeRecorded, 'outcome' | 'epoch'>;
};

/** A request under the policy floor: its demands are those in force. */
export type AdmittedRequest = RequestApproval & {
  readonly floor?: RequestFloor | undefined;
  readonly description?: string | undefined;
  /** Of a remote effect. Left out: it follows from kind and class. */
  readonly risk?: Risk | undefined;
};

type RequestRecord = RequestProgress & {
  readonly request: AdmittedRequest;
  readonly requestedAt: number;
  readonly expiresAt: number;
};

export type Pending = RequestRecord & { readonly status: 'pending' };
export type Closed = RequestRecord & { readonly status: 'closed'; readonly decided: Resolution };
/** Cancelled before the request arrived. */
export type Withdrawn = {
  readonly status: 'withdrawn';
  readonly about: Pick<ApprovalResolved, 'id' | 'task' | 'node' | 'revision'>;
  readonly decided: Resolution;
};
export type Absent = { readonly status: 'absent' };
export type ApprovalState = Absent | Pending | Closed | Withdrawn;
export type Finished = Closed | Withdrawn;

/** An authenticated person. Their name comes from the credentials of the call, never from its body. */
export type Principal = Member & {
  /** Scopes of the credentials; all when undefined. */
  readonly scopes?: readonly Scope[] | undefined;
  /** Remote capabilities whose effects the credentials may claim; all when undefined. */
  readonly claims?: readonly string[] | undefined;
  /** The agent that acts for this person, if any. */
  readonly agent?: string | undefined;
  /** The stored token of the call, if any. */
  readonly token?: AccessTokenId | undefined;
};

export type ApprovalMessage =
  /** With the standing rules that seemed to match when the request arrived. */
  | {
      readonly kind: 'request';
      readonly payload: RequestApproval;
      readonly rules?: readonly RuleId[];
      /** The policy floor in force; default: the built-in one. */
      readonly floor?: CompiledFloor | undefined;
      /** The people whose groups are known; undefined where an identity provider says more about them. */
      readonly people?: readonly Member[] | undefined;
      /** Why the effect cannot be carried out, or does not agree with the registry of capabilities. */
      readonly refusal?: string | undefined;
      /** The words of the registry about a remote effect. */
      readonly words?: RegisteredWords | undefined;
    }
  | {
      readonly kind: 'decide';
      readonly payload: DecideApproval;
      readonly by: Principal;
      readonly surface?: Surface | undefined;
      /** Part of a bulk decision: nobody looked at this request by itself. */
      readonly isOneOfMany?: boolean;
    }
  | { readonly kind: 'cancel'; readonly payload: CancelApproval }
  /** A standing rule matched and counted this use. */
  | { readonly kind: 'rule_applies'; readonly rule: RuleId; readonly author: string }
  /** Matching rules that were unknown when the request arrived. */
  | { readonly kind: 'consider'; readonly rules: readonly RuleId[] }
  /** The rule that the decision asked to remember now exists. */
  | { readonly kind: 'rule_kept' }
  | {
      readonly kind: 'delivered';
      readonly surface: Surface;
      readonly notice: Notice;
      readonly number: number;
      readonly reference?: string | undefined;
    }
  /** The executor's report on the effect. */
  | { readonly kind: 'outcome'; readonly fact: Omit<EffectOutcomeRecorded, 'type' | 'at'> }
  | TimerFired;

/**
 * Runs after a decision is committed and returns a message. A timer repeats it until that message arrives.
 */
export type ApprovalWork =
  | {
      readonly kind: 'use_rule';
      readonly rule: RuleId;
      readonly approval: AdmittedRequest;
      /** The rules to ask next if this one does not match. */
      readonly rest: readonly RuleId[];
    }
  | {
      readonly kind: 'keep_rule';
      readonly rule: RuleId;
      readonly spec: RuleSpec;
      readonly author: Member;
      readonly from: RequestApproval['id'];
    }
  /** Reads the executor's ledger. */
  | {
      readonly kind: 'ask_outcome';
      readonly approval: RequestApproval['id'];
      readonly effect: RequestApproval['effectId'];
    }
  | {
      readonly kind: 'deliver';
      readonly approval: RequestApproval['id'];
      readonly surface: Surface;
      readonly notice: Notice;
      /** Number of the reminder or escalation step. */
      readonly number: number;
    };
export type AskOutcome = Extract<ApprovalWork, { kind: 'ask_outcome' }>;
export type Delivery = Extract<ApprovalWork, { kind: 'deliver' }>;
