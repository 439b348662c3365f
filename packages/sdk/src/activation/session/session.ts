import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Entry, WorkRecord } from '@holdpoint/contracts/program/recording';
import type { PhaseEnd, WorkRequest, WorkAnswer, WorkInput } from '@holdpoint/contracts/program/work';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { PhaseAborted } from './abort.ts';
import type { WorkPort } from './port.ts';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 3_000;
/** Shorter than the bus waits for an acknowledgement: who takes the order next finds it free. */
const CLAIM_MS = 20_000;
/** A word that a service cannot handle is said again so often: it may be the one message that went wrong. */
const POISONED_MAX = 3;

/** What became of a claim. `unanswered`: the order is left on the bus. */
export type ClaimOutcome = 'held' | 'lost' | 'unanswered';

/**
 * One lease of one phase. What is recorded waits until the claim was answered; an end does not: whoever speaks of an order
 * first has its lease, and whoever does not hold it is not heard.
 */
export type Session = {
  /** Asks for the lease, and keeps it by heartbeats from then on. */
  readonly claim: (give: boolean) => Promise<{ readonly claimed: ClaimOutcome; readonly given?: WorkInput }>;
  /** Throws `HoldpointError` with what it is refused with, or `PhaseAborted` once the lease is lost. */
  readonly record: (record: WorkRecord) => Promise<Entry | undefined>;
  readonly end: (end: PhaseEnd) => Promise<void>;
  /** Stops the heartbeats. */
  readonly close: () => void;
};

export type SessionParts = {
  readonly port: Pick<WorkPort, 'say'>;
  readonly clock: Clock;
  readonly task: TaskId;
  readonly lease: number;
  readonly worker: string;
  readonly onLost: (reason: PhaseAborted) => void;
};

const wait = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.after(ms, resolve));

/** It may be answered the next time. */
const isPassing = (error: unknown, poisoned: number): boolean => {
  if (!(error instanceof HoldpointError)) return false;
  return error.code === 'RUNTIME_UNAVAILABLE' || (error.code === 'RUNTIME_POISON' && poisoned < POISONED_MAX);
};

export const createSession = ({ port, clock, task, lease, worker, onLost }: SessionParts): Session => {
  // By the clock of this machine that nobody can set: a wrong time of day changes nothing.
  let goodUntil = clock.now() + CLAIM_MS;
  let lost: PhaseAborted | undefined;
  let isRefused = false;
  let isClosed = false;
  let callOff = (): void => undefined;
  let answerClaim: (claimed: ClaimOutcome) => void = () => undefined;
  const claimed = new Promise<ClaimOutcome>((resolve) => (answerClaim = resolve));

  const lose = (message: string): PhaseAborted => {
    if (lost === undefined) {
      lost = new PhaseAborted('lost', message);
      callOff();
      if (!isClosed) onLost(lost);
    }
    return lost;
  };

  const once = async (say: WorkRequest['request']): Promise<WorkAnswer> => {
    const since = clock.now();
    const answer = await port.say({ task, lease, worker, request: say });
    // From before the question: when it was answered is not known here.
    goodUntil = Math.max(goodUntil, since + answer.leaseMs);
    return answer;
  };

  /** Says it until it is answered, as long as the lease may still be held. */
  const say = async (what: WorkRequest['request']): Promise<WorkAnswer> => {
    let retryMs = FIRST_RETRY_MS;
    for (let poisoned = 0; ;) {
      if (lost !== undefined) throw lost;
      try {
        return await once(what);
      } catch (error) {
        if (error instanceof HoldpointError && error.code === 'ORCHESTRATOR_WORK_LOST') {
          isRefused = true;
          throw lose(error.message);
        }
        if (error instanceof HoldpointError && error.code === 'RUNTIME_POISON') poisoned += 1;
        if (!isPassing(error, poisoned)) throw error;
        if (clock.now() + retryMs >= goodUntil) throw lose('the lease could not be kept: nobody answers');
      }
      await wait(clock, retryMs);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  };

  const beat = (leaseMs: number): void => {
    callOff = clock.after(leaseMs / 3, () => {
      if (isClosed || lost !== undefined) return;
      say({ kind: 'heartbeat' }).then(
        (answer) => beat(answer.leaseMs),
        (error: unknown) => {
          // What it is refused with says that it is over; `say` has told of it, unless nobody knows the task any more.
          lose(error instanceof Error ? error.message : String(error));
        },
      );
    });
  };

  const whileHeld = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    if ((await claimed) !== 'held') throw lose('the lease was not given');
    return step();
  };

  return {
    claim: async (give) => {
      try {
        const { input: given, leaseMs } = await say({ kind: 'claim', ...(give && { withInput: give }) });
        if (!isClosed) beat(leaseMs);
        answerClaim('held');
        return { claimed: 'held', ...(given !== undefined && { given }) };
      } catch (error) {
        const isAnswer = isRefused || (error instanceof HoldpointError && error.code !== 'RUNTIME_POISON');
        const how: ClaimOutcome = isAnswer ? 'lost' : 'unanswered';
        answerClaim(how);
        lose(error instanceof Error ? error.message : String(error));
        return { claimed: how };
      }
    },
    record: (record) => whileHeld(async () => (await say({ kind: 'record', record })).entry),
    end: async (end) => void (await say({ kind: 'end', end })),
    close: () => {
      isClosed = true;
      callOff();
    },
  };
};
