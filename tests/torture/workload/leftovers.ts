import type { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import type { ApprovalId, EffectId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { History } from '../history.ts';
import { holdFor } from '../fault-runner.ts';
import type { Caller } from './caller.ts';
import type { Target } from './target.ts';

/** The whole list is read each time, and it may be long. */
const SWEEP_EVERY_MS = 15_000;
const PAGE = 200;
const PAGES_MAX = 20;

type Doubt = { readonly id: ApprovalId; readonly task: TaskId; readonly effectId: EffectId };

type StuckQuestion = { readonly id: ApprovalId; readonly task: TaskId; readonly node: NodeId };

const lastOf = (id: string): number => id.charCodeAt(id.length - 1);
const RETRIED: readonly StuckAnswer[] = ['retry', 'retry', 'retry', 'skip', 'done', 'cancel'];
/** After the load, no job is retried. */
const ENDED: readonly StuckAnswer[] = ['skip', 'done'];
const TRIED: readonly StuckAnswer[] = ['retry'];
const SKIPPED: readonly StuckAnswer[] = ['skip'];

/** Resolves a stuck job by its question or by a command. */
const resolveStuck = (
  caller: Caller,
  { id, task, node }: StuckQuestion,
  among: readonly StuckAnswer[],
): Promise<unknown> => {
  const said = among[lastOf(id) % among.length] ?? 'done';
  if (id.charCodeAt(id.length - 2) % 2 === 0)
    return caller('sweeper', task, 'approvals', 'decide', { id, decision: said, comment: 'otherwise' });
  return caller('resolver', task, 'orchestrator', said, { id: task, node, by: 'torture' });
};

/**
 * Approves repeated requests during the run. After the load it also approves open requests and resolves stuck
 * jobs.
 */
export const startSweeper = (
  people: readonly [Caller, ...Caller[]],
  prefix: string,
  history: History,
  target: Pick<Target, 'applications' | 'release'>,
  /** Tasks of programs' effects, whose ids do not show the program. */
  isOfProgram: (task: string) => boolean,
  /** Rollback tasks are never marked as done by hand. */
  isRollback: (task: string) => boolean,
) => {
  const [caller] = people;
  const stopped = new AbortController();
  let alone = false;
  const answersTo = async (doubts: readonly Doubt[]) => {
    if (doubts.length === 0) return [];
    await target.release();
    const applied = await target.applications();
    return doubts.map(({ id, task, effectId }) => ({
      id,
      task,
      decision: applied.some(({ key }) => key === effectId || key.endsWith(`/${task}`))
        ? ('applied' as const)
        : // Half of them are done again, so that this is seen to be done once as well.
          effectId.charCodeAt(effectId.length - 1) % 2 === 0
          ? ('retry' as const)
          : ('not_applied' as const),
    }));
  };
  const page = async (after: string | undefined): Promise<string | undefined> => {
    const request = { status: 'pending', limit: PAGE, ...(after !== undefined && { after }) } as const;
    const found = await caller('sweeper', `${prefix}*`, 'approvals', 'list', request, { quiet: true });
    if (found.type !== 'ok') return undefined;
    const ours = found.answer.items.filter(
      ({ task }) => task.startsWith(prefix) || isOfProgram(task) || isRollback(task),
    );
    const questions = alone ? ours.filter(({ input }) => input !== undefined) : [];
    const stuckJobs = ours.filter(({ stuck }) => stuck !== undefined);
    const again = ours.filter(
      ({ inDoubt: doubt, stuck, input, revision }) =>
        doubt === undefined && stuck === undefined && input === undefined && (alone || revision > 1),
    );
    const doubts = alone ? ours.filter(({ inDoubt: doubt }) => doubt !== undefined) : [];
    const answers = await answersTo(doubts);
    const decisions = [
      ...questions.map(({ id, task }) => ({ id, task, decision: 'respond' as const, response: true })),
      ...answers,
    ];
    const amongOf = (task: string): readonly StuckAnswer[] => {
      if (isRollback(task)) return TRIED;
      // The effect of a program is never marked as done by hand.
      if (isOfProgram(task)) return alone ? SKIPPED : TRIED;
      return alone ? ENDED : RETRIED;
    };
    await Promise.all(stuckJobs.map((job) => resolveStuck(caller, job, amongOf(job.task))));
    // Some requests need the votes of two people.
    await Promise.all([
      ...decisions.map(({ task, ...decision }) => caller('sweeper', task, 'approvals', 'decide', decision)),
      ...again.flatMap(({ id, task }) =>
        people.map((person) => person('sweeper', task, 'approvals', 'decide', { id, decision: 'approve' })),
      ),
    ]);
    return found.answer.next;
  };
  const sweep = async (): Promise<void> => {
    let after: string | undefined;
    for (let i = 0; i < PAGES_MAX; i += 1) {
      after = await page(after);
      if (after === undefined) return;
    }
  };
  const sweeping = (async () => {
    while (!stopped.signal.aborted) {
      await sweep().catch((error: unknown) => history.add({ note: `a sweep broke off: ${String(error)}` }));
      await holdFor(SWEEP_EVERY_MS, stopped.signal);
    }
  })();
  return {
    takeOver: (): void => {
      alone = true;
    },
    stop: async (): Promise<void> => {
      stopped.abort();
      await sweeping;
    },
  };
};
