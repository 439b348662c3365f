import type { ApprovalResolved, EffectNoted } from '@holdpoint/contracts/approval/events';
import type { CancelApproval, DecideApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { Notice, Surface, Vote } from '@holdpoint/contracts/approval/status';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import type { RuleId } from '@holdpoint/contracts/values/ids';
import type { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import type { TimerFired } from '@holdpoint/runtime/decider';

/** How it ended, without what it was about. */
export type Resolution = Omit<ApprovalResolved, 'type' | 'id' | 'task' | 'node' | 'revision'>;

/** What happens to a request beside its decision. */
type RequestProgress = {
  /** One for each person, the latest word. */
  readonly votes: readonly Vote[];
  /** Whom it was put to by now: those of the request, and whomever it was handed on to. */
  readonly audience: readonly string[];
  readonly reminders: number;
  readonly steps: number;
  /** Surfaces and notices that are done with, each as `surface/notice/number`. */
  readonly notified: readonly string[];
  /** What a surface calls that by which it was told, by the same names. */
  readonly references?: Readonly<Record<string, string>>;
  /** Who was refused, and why, each as `name/code`. */
  readonly refused: readonly string[];
  readonly outcome?: Pick<EffectNoted, 'outcome' | 'epoch'>;
};

type RequestRecord = RequestProgress & {
  readonly request: RequestApproval;
  readonly requestedAt: number;
  readonly expiresAt: number;
};

export type Pending = RequestRecord & { readonly status: 'pending' };
export type Closed = RequestRecord & { readonly status: 'closed'; readonly decided: Resolution };
/** Cancelled before its request arrived: nobody was asked, and nobody will be. */
export type Withdrawn = {
  readonly status: 'withdrawn';
  readonly about: Pick<ApprovalResolved, 'id' | 'task' | 'node' | 'revision'>;
  readonly decided: Resolution;
};
export type Absent = { readonly status: 'absent' };
export type ApprovalState = Absent | Pending | Closed | Withdrawn;
export type Finished = Closed | Withdrawn;

/** An authenticated person. Who it is comes from the credentials of the call, never from its body. */
export type Principal = Member & {
  /** What the credentials are good for; everything, when left out. */
  readonly scopes?: readonly Scope[] | undefined;
  /** It is an agent of his that speaks, and not he himself. */
  readonly agent?: string | undefined;
};

export type ApprovalMessage =
  /** With the standing rules that seem to fit, as they were known when it arrived. */
  | { readonly kind: 'request'; readonly payload: RequestApproval; readonly rules?: readonly RuleId[] }
  | {
      readonly kind: 'decide';
      readonly payload: DecideApproval;
      readonly by: Principal;
      readonly surface?: Surface | undefined;
      /** It was said of several at once, which nobody has looked at one by one. */
      readonly isOneOfMany?: boolean;
    }
  | { readonly kind: 'cancel'; readonly payload: CancelApproval }
  /** A standing rule has let itself be used for it. */
  | { readonly kind: 'rule_applies'; readonly rule: RuleId; readonly author: string }
  /** Rules that seem to fit, and were not known when the request arrived. */
  | { readonly kind: 'consider'; readonly rules: readonly RuleId[] }
  /** The rule that was made with its decision is there. */
  | { readonly kind: 'rule_kept' }
  | {
      readonly kind: 'delivered';
      readonly surface: Surface;
      readonly notice: Notice;
      readonly number: number;
      readonly reference?: string | undefined;
    }
  /** What its executor reported. */
  | { readonly kind: 'outcome'; readonly fact: Omit<EffectNoted, 'type' | 'at'> }
  | TimerFired;

/** Done once a decision is committed; what comes of it is handed back as a message. Repeated by a timer until it is. */
export type ApprovalWork =
  | {
      readonly kind: 'use_rule';
      readonly rule: RuleId;
      readonly approval: RequestApproval;
      /** Those to be asked when this one does not fit. */
      readonly rest: readonly RuleId[];
    }
  | {
      readonly kind: 'keep_rule';
      readonly rule: RuleId;
      readonly spec: RuleSpec;
      readonly author: Member;
      readonly from: RequestApproval['id'];
    }
  /** Looks at the ledger of the executor. */
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
      /** Which reminder, or which step. */
      readonly number: number;
    };
export type AskOutcome = Extract<ApprovalWork, { kind: 'ask_outcome' }>;
export type Delivery = Extract<ApprovalWork, { kind: 'deliver' }>;
