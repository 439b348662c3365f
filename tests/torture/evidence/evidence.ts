import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { z } from 'zod';
import type { Ended } from '../deployment/deployment.ts';
import type { Operation } from '../history.ts';
import type { SeenFact, SeenLetter } from '../bus-recorder.ts';
import type { Fate } from '../workload/planned.ts';
import type { GraphPlan } from '../workload/graph.ts';
import type { Application } from '../workload/target.ts';
import type { SavedWork } from '../workload/saved-work.ts';
import type { Feed } from '../pages/feed.ts';
import type { attacksIn } from './attacks.ts';
import type { SettledLetter } from './dead-letters.ts';
import type { AuditEvidence } from './audit.ts';
import type { WorkLine } from '../workload/script-log.ts';

export type StoredEvent = {
  readonly version: number;
  /** Epoch milliseconds by the database's clock. */
  readonly at: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export type StoredAggregate = {
  readonly id: string;
  /** The row that lists show. */
  readonly head: { readonly version: number; readonly status: string } | undefined;
  readonly events: readonly StoredEvent[];
};

/** The plan of a task. */
export type Meant = {
  readonly fate: Fate;
  readonly submission: z.input<typeof SubmitTask>;
  readonly effect: string;
  /** The digest of each request for its effect. */
  readonly requestDigest: string | undefined;
  readonly graph?: GraphPlan;
  /** The agent that submitted it. */
  readonly agent?: string;
};

/** All evidence about one task of the run. */
export type TaskEvidence = {
  readonly id: string;
  readonly meant: Meant;
  readonly operations: readonly Operation[];
  /** Undefined when it does not exist. */
  readonly task: StoredAggregate | undefined;
  readonly approvals: readonly StoredAggregate[];
  readonly effects: readonly StoredAggregate[];
  /** Effects of kind `work`, which need no approval and may be repeated. */
  readonly works: readonly StoredAggregate[];
  /** The lines of its scripts. */
  readonly lines: readonly WorkLine[];
  /** The commits and files that its rollbacks saved. */
  readonly saved: readonly SavedWork[];
  /** The recorded attempts, with the verdicts of failures. */
  readonly recovery: StoredAggregate | undefined;
  /** The applications under the key of its effect. */
  readonly applications: readonly Application[];
  readonly facts: readonly SeenFact[];
  /** The events that pages received. */
  readonly feeds: readonly Feed[];
};

/** All evidence about one program. The task of its effect has its own evidence. */
export type ProgramEvidence = {
  readonly id: string;
  readonly submission: z.input<typeof SubmitTask>;
  /** The ids of its question, of the task of its effect, and of the effect. */
  readonly question: string;
  readonly child: string;
  readonly effect: string;
  readonly operations: readonly Operation[];
  /** Undefined when it does not exist. */
  readonly program: StoredAggregate | undefined;
  readonly questions: readonly StoredAggregate[];
  /** The applications under the key of its effect. */
  readonly applications: readonly Application[];
  readonly facts: readonly SeenFact[];
};

export type ServiceEvidence = {
  readonly service: string;
  readonly outbox: number;
  /** Timers that were due long ago. */
  readonly staleTimers: number;
  readonly timers: number;
  /** The size of the outbox and timer tables. */
  readonly queueBytes: number;
};

export type ConsumerEvidence = {
  readonly name: string;
  readonly pending: number;
  readonly unacknowledged: number;
};

/** A text that was searched, and the secrets found in it. */
export type Searched = { readonly where: string; readonly bytes: number; readonly found: readonly string[] };

/** All evidence about the run as a whole. */
export type RunEvidence = {
  readonly services: readonly ServiceEvidence[];
  readonly consumers: readonly ConsumerEvidence[];
  readonly letters: readonly SeenLetter[];
  /** The dead letters that operators retried or dropped. */
  readonly settledLetters: readonly SettledLetter[];
  readonly attacks: ReturnType<typeof attacksIn>;
  readonly ended: readonly Ended[];
  /** The peak usage of each instance. */
  readonly peaks: readonly {
    readonly instance: string;
    readonly rssBytes: number;
    readonly openFiles: number;
  }[];
  readonly searched: readonly Searched[];
  readonly secrets: number;
  /** Log lines about unhandled errors. */
  readonly outcries: readonly string[];
  readonly logLines: number;
  /** The lines of all scripts, in order. */
  readonly work: readonly WorkLine[];
  readonly audit: AuditEvidence;
  /** Applications under keys of no task of the run. */
  readonly strangeApplications: readonly string[];
  /** Aggregates of the run that no task accounts for. */
  readonly strangers: readonly string[];
  readonly settled: {
    readonly afterMs: number | undefined;
    readonly withinMs: number;
    readonly left: readonly string[];
  };
};
