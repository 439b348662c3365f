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
import type { SettledLetter } from './dead-letters.ts';
import type { AuditEvidence } from './audit.ts';
import type { WorkLine } from '../workload/script-log.ts';

/** An event as the store has it. */
export type StoredEvent = {
  readonly version: number;
  /** Epoch milliseconds, by the database's clock. */
  readonly at: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
};

export type StoredAggregate = {
  readonly id: string;
  /** What lists show of it. */
  readonly head: { readonly version: number; readonly status: string } | undefined;
  readonly events: readonly StoredEvent[];
};

/** What was meant to be done with a task. */
export type Meant = {
  readonly fate: Fate;
  readonly submission: z.input<typeof SubmitTask>;
  readonly effect: string;
  /** What each request for its effect looks like to the target. */
  readonly requestDigest: string | undefined;
  readonly graph?: GraphPlan;
  /** Who has submitted it for somebody. */
  readonly agent?: string;
};

/** Everything that is known of one task of the run. */
export type TaskEvidence = {
  readonly id: string;
  readonly meant: Meant;
  readonly operations: readonly Operation[];
  /** Undefined when there is none. */
  readonly task: StoredAggregate | undefined;
  readonly approvals: readonly StoredAggregate[];
  readonly effects: readonly StoredAggregate[];
  /** What needs no approval, and may be repeated. */
  readonly works: readonly StoredAggregate[];
  /** What its scripts have written. */
  readonly lines: readonly WorkLine[];
  /** What was kept when its worktree went back. */
  readonly saved: readonly SavedWork[];
  /** The attempts that recovery keeps, those that failed with their verdicts. */
  readonly recovery: StoredAggregate | undefined;
  /** What reached the world under the key of its effect. */
  readonly applications: readonly Application[];
  readonly facts: readonly SeenFact[];
  /** What pages were told of it. */
  readonly feeds: readonly Feed[];
};

/** Everything that is known of one program of the run; the task of its effect has evidence of its own. */
export type ProgramEvidence = {
  readonly id: string;
  readonly submission: z.input<typeof SubmitTask>;
  /** Ids of what it asks people, of the task that carries out its effect, and of that effect. */
  readonly question: string;
  readonly child: string;
  readonly effect: string;
  readonly operations: readonly Operation[];
  /** Undefined when there is none. */
  readonly program: StoredAggregate | undefined;
  readonly questions: readonly StoredAggregate[];
  /** What reached the world under the key of its effect. */
  readonly applications: readonly Application[];
  readonly facts: readonly SeenFact[];
};

export type ServiceEvidence = {
  readonly service: string;
  readonly outbox: number;
  /** Timers that were due long ago. */
  readonly staleTimers: number;
  readonly timers: number;
  /** Of the tables that only hold what is under way. */
  readonly queueBytes: number;
};

export type ConsumerEvidence = {
  readonly name: string;
  readonly pending: number;
  readonly unacknowledged: number;
};

/** Something that may hold a secret by mistake, and which secrets were found in it. */
export type Searched = { readonly where: string; readonly bytes: number; readonly found: readonly string[] };

/** What is known of the run as a whole. */
export type RunEvidence = {
  readonly services: readonly ServiceEvidence[];
  readonly consumers: readonly ConsumerEvidence[];
  readonly letters: readonly SeenLetter[];
  /** Those that people have tried again or dropped. */
  readonly settledLetters: readonly SettledLetter[];
  readonly ended: readonly Ended[];
  /** The most that each instance has taken at any time. */
  readonly peaks: readonly {
    readonly instance: string;
    readonly rssBytes: number;
    readonly openFiles: number;
  }[];
  readonly searched: readonly Searched[];
  readonly secrets: number;
  /** Lines of the services' logs that tell of what nobody handled. */
  readonly outcries: readonly string[];
  readonly logLines: number;
  /** What the scripts of all tasks have written, in that order. */
  readonly work: readonly WorkLine[];
  readonly audit: AuditEvidence;
  /** Applications under keys that no task of the run has. */
  readonly strangeApplications: readonly string[];
  /** Tasks, approvals and effects of the run that nothing accounts for. */
  readonly strangers: readonly string[];
  readonly settled: {
    readonly afterMs: number | undefined;
    readonly withinMs: number;
    readonly left: readonly string[];
  };
};
