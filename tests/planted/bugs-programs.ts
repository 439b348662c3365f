import type { Bug } from './bug.ts';
import { programLifecycle, SEEDS } from './tests.ts';

const PROGRAMS = 'packages/programs/src';

export const PROGRAM_BUGS: readonly Bug[] = [
  {
    name: 'a worker whose lease is over is heard',
    file: `${PROGRAMS}/on-work-message.ts`,
    find: `  if (lease !== task.lease) return false;
  return task.status === 'ordered' || (task.status === 'started' && task.worker === worker);`,
    replace: `  return lease <= task.lease && worker !== '' && (task.status === 'ordered' || task.status === 'started');`,
    caughtBy: [
      SEEDS,
      programLifecycle(
        'is given to another when the worker is not heard of: what the first says then is not heard',
      ),
    ],
  },
  {
    name: 'a step of a program that is recorded is done again',
    file: `${PROGRAMS}/work-input.ts`,
    find: `    entries: [...entries],`,
    replace: `    entries: entries.filter(({ kind }) => kind !== 'step'),`,
    caughtBy: [SEEDS, programLifecycle('is there for whoever runs it again')],
  },
  {
    name: 'an effect that a program asks for anew has another task while the first is under way',
    file: `${PROGRAMS}/effects.ts`,
    find: `  if (ended === undefined || ended.outcome === 'succeeded') return true;`,
    replace: `  if (ended === undefined) return false;
  if (ended.outcome === 'succeeded') return true;`,
    caughtBy: [SEEDS, programLifecycle('is asked for once, however often the phase is run')],
  },
  {
    name: 'what somebody has called off is asked for anew',
    file: `${PROGRAMS}/effects.ts`,
    find: `  if (ended.outcome === 'cancelled' || ended.error?.code === 'NODE_CANCELLED') return true;`,
    replace: ``,
    caughtBy: [
      programLifecycle('that was called off and is told as %s is not asked for anew: it may have happened'),
    ],
  },
  {
    name: 'a phase that begins to wait for what has ended waits for ever',
    file: `${PROGRAMS}/phase-end.ts`,
    find: `  draft.emit({ type: 'phase_suspended', ...placeIn(task), on });
  goOnWith(draft);`,
    replace: `  draft.emit({ type: 'phase_suspended', ...placeIn(task), on });`,
    caughtBy: [SEEDS, programLifecycle('that has ended before the phase waits for it lets it go on at once')],
  },
  {
    name: 'another attempt that a person grants counts as none',
    file: `${PROGRAMS}/retry.ts`,
    find: `attempt: attempt + 1, delayMs`,
    replace: `attempt: granted.by === undefined ? attempt + 1 : attempt, delayMs`,
    caughtBy: [SEEDS, programLifecycle('is put to people, whose word counts like any other attempt')],
  },
  {
    name: 'a question that ended with its program is withdrawn for ever',
    file: `${PROGRAMS}/evolve.ts`,
    find: `waits: _waits, question: _question, ...rest } = released(task);
  return { ...rest, status: 'ended', outcome };`,
    replace: `waits: _waits, ...rest } = released(task);
  return { ...rest, status: 'ended', outcome };`,
    caughtBy: [SEEDS, programLifecycle('is withdrawn no more once it is known to be closed')],
  },
  {
    name: 'what a program that is over has under way is not called off',
    file: `${PROGRAMS}/ending.ts`,
    find: `  withdrawEffects(draft, reason);`,
    replace: ``,
    caughtBy: [SEEDS, programLifecycle('is called off with the task, until it is known to be over')],
  },
  {
    name: 'an order of work that is lost is not given again',
    file: `${PROGRAMS}/order-phase.ts`,
    find: `reason: nobody(task) });
  send(draft, ask);`,
    replace: `reason: nobody(task) });`,
    caughtBy: [
      SEEDS,
      programLifecycle('that nobody takes is offered again, and people see that nobody is there'),
    ],
  },
  {
    name: 'what decides on an effect answers a program',
    file: `${PROGRAMS}/question.ts`,
    find: `  if (!ANSWERS.has(fact.outcome)) return;`,
    replace: ``,
    caughtBy: [programLifecycle('hears no decision on an effect as an answer')],
  },
];
