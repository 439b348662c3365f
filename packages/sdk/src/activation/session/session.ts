import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Entry, WorkRecord } from '@holdpoint/contracts/program/recording';
import type {
  ClaimedPhase,
  PhaseEnd,
  WorkRequest,
  WorkAnswer,
  WorkInput,
} from '@holdpoint/contracts/program/work';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { PhaseAborted } from './abort.ts';
import type { WorkPort } from './port.ts';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 3_000;
/** Shorter than the acknowledgement timeout of the bus, so that the next worker finds the order free. */
const CLAIM_MS = 20_000;
/** The service may fail on one message only, so a poisoned request is repeated this often. */
const POISONED_MAX = 3;

/** The result of a claim. `unanswered`: the order stays on the bus. */
export type ClaimOutcome = 'held' | 'lost' | 'unanswered';

/**
 * One lease of one phase. Records wait for the claim; an end does not, because the first request about an
 * order takes its lease, and requests without the lease are refused.
 */
export type Session = {
  /** Requests the lease and renews it with heartbeats. */
  readonly claim: (give: boolean) => Promise<{
    readonly claimed: ClaimOutcome;
    readonly given?: WorkInput;
    /** The phase that the orchestrator ordered under this lease. */
    readonly phase?: ClaimedPhase;
  }>;
  /** Throws `HoldpointError` with the orchestrator's reason, or `PhaseAborted` after the lease is lost. */
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

/** Whether a later request may succeed. */
const isPassing = (error: unknown, poisoned: number): boolean => {
  if (!(error instanceof HoldpointError)) return false;
  return error.code === 'RUNTIME_UNAVAILABLE' || (error.code === 'RUNTIME_POISON' && poisoned < POISONED_MAX);
};

export const createSession = ({ port, clock, task, lease, worker, onLost }: SessionParts): Session => {
  // Uses the monotonic clock, so that changes of the system time have no effect.
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
    // Counts from before the request: the time of the answer is unknown.
    goodUntil = Math.max(goodUntil, since + answer.leaseMs);
    return answer;
  };

  /** Repeats a request until it is answered or the lease must be over. */
  const say = async (what: WorkRequest['request']): Promise<WorkAnswer> => {
    let retryMs = FIRST_RETRY_MS;
    for (let poisoned = 0; ;) {
      if (lost !== undefined) throw lost;
      try {
        return await once(what);
      } catch (error) {
        if (hasCode(error, 'ORCHESTRATOR_WORK_LOST')) {
          isRefused = true;
          throw lose(error.message);
        }
        if (hasCode(error, 'RUNTIME_POISON')) poisoned += 1;
        if (!isPassing(error, poisoned)) throw error;
        if (clock.now() + retryMs >= goodUntil)
          throw lose('the lease expired: the orchestrator does not answer');
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
          // A refusal means that the lease is lost. `say` has reported it, except for an unknown task.
          lose(error instanceof Error ? error.message : String(error));
        },
      );
    });
  };

  const whileHeld = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    if ((await claimed) !== 'held') throw lose('the orchestrator refused the lease');
    return step();
  };

  return {
    claim: async (give) => {
      try {
        const answer = await say({ kind: 'claim', ...(give && { withInput: give }) });
        const { input: given, claimed: phase, leaseMs } = answer;
        if (!isClosed) beat(leaseMs);
        answerClaim('held');
        return { claimed: 'held', ...(given && { given }), ...(phase && { phase }) };
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
