import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ConsoleUsers } from '../pages/console-users.ts';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { History } from '../history.ts';
import { holdFor } from '../fault-runner.ts';
import { type Caller, nextCall, type Outcome, historyValue } from './caller.ts';
import type { PlannedTask } from './planned.ts';
import { asksFor } from './graph.ts';
import { questionOf } from './program.ts';
import { approvalOf, type Target } from './target.ts';

export type LifeOptions = {
  /** One for each approver. */
  readonly callers: readonly Caller[];
  readonly connection: NatsConnection;
  readonly target: Target;
  readonly history: History;
  /** Resolves when the approval is requested, or when polling is due. */
  readonly requested: (approval: string) => Promise<void>;
  /** Resolves at the end of the faults. */
  readonly healed: Promise<void>;
  readonly over: AbortSignal;
  readonly users?: ConsoleUsers | undefined;
};

const PAUSE_MIN_MS = 250;
/** Thousands of retries at the same time must not overload the system. */
const PAUSE_MAX_MS = 20_000;
/** After this time the submitter checks that the task exists. */
const LOOK_AFTER_MS = 4_000;
const PUBLISH_WITHIN_MS = 3_000;

/** After these attempts the clean-up decides: a program may have ended before its request. */
const UNKNOWN_TRIES_MAX = 7;

type Insist = <Answer>(
  ask: () => Promise<Outcome<Answer>>,
  over: AbortSignal,
  passes?: (code: string) => boolean,
) => Promise<Outcome<Answer>>;

const createInsist = () => {
  let waiting = 0;

  /** Repeats a call until it is accepted or refused. */
  const insist: Insist = async (ask, over, passes = () => false) => {
    waiting += 1;
    try {
      for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
        const outcome = await ask();
        if (outcome.type === 'ok' || over.aborted) return outcome;
        if (outcome.type === 'fail' && !passes(outcome.code)) return outcome;
        await holdFor(pauseMs, over);
      }
    } finally {
      waiting -= 1;
    }
  };

  /** `waiting`: calls that are neither accepted nor refused yet. */
  return { insist, waiting: () => waiting };
};

/** One task from its submission to the last decision. */
export const createLife = (options: LifeOptions) => {
  const { callers, connection, target, history, requested, healed, over, users } = options;
  const { insist, waiting } = createInsist();
  const [first, second = first] = callers;
  if (first === undefined || second === undefined) throw new Error('the deployment has no approver');

  /** An approver, at a terminal or on a page. */
  const whoOf = ({ page }: PlannedTask, which: 0 | 1): Caller =>
    (page === true ? users?.callers[which] : undefined) ?? (which === 0 ? first : second);

  /** The bus may lose a stored message. Once the API shows the task, it is stored for good. */
  const publish = async (task: PlannedTask): Promise<Outcome<unknown>> => {
    const call = nextCall();
    const about = { actor: 'bus', op: 'orchestrator.submit', key: task.id, call };
    const submission = target.submission(task);
    history.add({ ...about, type: 'invoke', value: historyValue(submission) });
    const published = jetstream(connection).publish('hp.cmd.task.submit', JSON.stringify(submission), {
      timeout: PUBLISH_WITHIN_MS,
    });
    const value = await published.then(
      () => 'published',
      (error: unknown) => String(error),
    );
    history.add({ ...about, type: 'info', value });
    await holdFor(LOOK_AFTER_MS, over);
    return { type: 'info' };
  };

  const submit = async (task: PlannedTask): Promise<boolean> => {
    const ask = () =>
      task.agent === true && users !== undefined
        ? users.submitByAgent(target.submission(task))
        : first('submitter', task.id, 'orchestrator', 'submit', target.submission(task));
    const look = () => first('submitter', task.id, 'orchestrator', 'get', { id: task.id });
    const byBus = async (): Promise<Outcome<unknown>> => {
      await publish(task);
      return look();
    };
    const taken =
      task.via === 'api'
        ? await insist(ask, over)
        : await insist(byBus, over, (code) => code === 'ORCHESTRATOR_UNKNOWN_TASK');
    return taken.type === 'ok';
  };

  const conflict = (task: PlannedTask): Promise<unknown> => {
    const other = { ...target.submission(task), goal: `not what ${task.id} was` };
    return insist(() => first('conflicting', task.id, 'orchestrator', 'submit', other), over);
  };

  /** The request may be late; that of a program may never come. */
  const notYetAsked = ({ program }: PlannedTask): ((code: string) => boolean) => {
    let tries = 0;
    return (code) => {
      tries += 1;
      return code === 'APPROVALS_UNKNOWN' && (program !== true || tries <= UNKNOWN_TRIES_MAX);
    };
  };

  const decide = async (
    task: PlannedTask,
    decision: Verb,
    by: Caller = whoOf(task, 0),
    actor = 'operator',
  ) => {
    const id = approvalOf(target, task);
    await requested(id);
    return insist(() => by(actor, task.id, 'approvals', 'decide', { id, decision }), over, notYetAsked(task));
  };
  const approve = (task: PlannedTask): Promise<unknown> =>
    Promise.all([
      decide(task, 'approve'),
      ...(task.graph?.people === 2 ? [decide(task, 'approve', whoOf(task, 1), 'second')] : []),
    ]);
  const cancel = async (task: PlannedTask): Promise<unknown> => {
    if (task.letter === true && (await users?.cancelByLetter(task.id)) === true) return;
    const by = whoOf(task, 0);
    return insist(
      () => by('canceller', task.id, 'orchestrator', 'cancel', { id: task.id, by: 'torture' }),
      over,
    );
  };

  const settle = async (task: PlannedTask): Promise<unknown> => {
    switch (task.fate) {
      case 'approve':
        return approve(task);
      case 'reject':
        return decide(task, 'reject');
      case 'request_changes':
        return decide(task, 'request_changes');
      case 'race':
        return Promise.all([decide(task, 'approve'), decide(task, 'reject', whoOf(task, 1), 'second')]);
      case 'cancel_waiting':
        await requested(approvalOf(target, task));
        return cancel(task);
      case 'cancel_racing': {
        await requested(approvalOf(target, task));
        return Promise.all([decide(task, 'approve'), cancel(task)]);
      }
      case 'late':
        await healed;
        return approve(task);
    }
  };

  const respond = async (
    task: PlannedTask,
    response: boolean,
    by: Caller = whoOf(task, 0),
    actor = 'operator',
  ) => {
    const id = questionOf(task.id);
    await requested(id);
    return insist(
      () => by(actor, task.id, 'approvals', 'decide', { id, decision: 'respond', response }),
      over,
      notYetAsked(task),
    );
  };

  /** A program asks a question before its effect: its approver may reject or leave at either. */
  const settleProgram = async (task: PlannedTask): Promise<unknown> => {
    switch (task.fate) {
      case 'approve':
        await respond(task, true);
        return decide(task, 'approve');
      case 'reject':
        await respond(task, true);
        return decide(task, 'reject');
      case 'request_changes':
        return respond(task, false);
      case 'race':
        await Promise.all([respond(task, true), respond(task, false, whoOf(task, 1), 'second')]);
        return decide(task, 'approve');
      case 'cancel_waiting':
        await requested(questionOf(task.id));
        return cancel(task);
      case 'cancel_racing':
        await respond(task, true);
        await requested(approvalOf(target, task));
        return Promise.all([decide(task, 'approve'), cancel(task)]);
      case 'late':
        await healed;
        await respond(task, true);
        return decide(task, 'approve');
    }
  };

  const tryToApprove = async (task: PlannedTask): Promise<void> => {
    const id = approvalOf(target, task);
    await requested(id);
    await users?.agent.tryToApprove(task.id, id);
  };

  const live = async (task: PlannedTask): Promise<void> => {
    if (task.letter === true) await users?.cancelEarly(connection, task.id);
    if (!(await submit(task))) return;
    if (task.conflicting) await conflict(task);
    // No request is ever made.
    if (task.graph !== undefined && !asksFor(task.graph)) return;
    await holdFor(task.thinkMs, over);
    const agent = task.agent === true ? tryToApprove(task) : undefined;
    // Half of the time the agent is faster than its owner.
    if (task.page === true) await agent;
    await (task.program === true ? settleProgram(task) : settle(task));
    await agent;
  };

  return { live, waiting };
};
