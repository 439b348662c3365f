import type { Bug } from './bug.ts';
import { circle, graphRecovery, recovery, SEEDS, verdict, workflowCircuit } from './tests.ts';

const RECOVERY = 'services/recovery/src/domain';
const TASKS = 'services/orchestrator/src';

export const RECOVERY_BUGS: readonly Bug[] = [
  {
    name: 'a verdict is forgotten, and whoever asks again gets another',
    file: `${RECOVERY}/recovery.ts`,
    find: `  if (known !== undefined && !isRefused) return decision({ send: [suggest(known, now)] });`,
    replace: `  if (known !== undefined && now < 0) return decision({ send: [suggest(known, now)] });`,
    caughtBy: [SEEDS, recovery('asked about again gets the verdict that was given, under a new message id')],
  },
  {
    name: 'a check that fails is retried without end',
    file: `${RECOVERY}/verdict-table.ts`,
    find: `    class: 'VERIFICATION_FAILED',
    up: 'before',
`,
    replace: `    class: 'VERIFICATION_FAILED',
`,
    caughtBy: [SEEDS, verdict('%s')],
  },
  {
    name: 'a circle is found only where its attempts follow each other',
    file: `${RECOVERY}/circle.ts`,
    find: `earlier.filter((each) => isSame(each, last, threshold)).length`,
    replace: `earlier.length - 1 - earlier.findLastIndex((each) => !isSame(each, last, threshold))`,
    caughtBy: [circle('is found between other approaches, and whatever it failed with')],
  },
  {
    name: 'a job goes on in new sessions without end',
    file: `${RECOVERY}/verdict-table.ts`,
    find: `    class: 'CONTEXT_EXHAUSTED',
    up: 'through',
`,
    replace: `    class: 'CONTEXT_EXHAUSTED',
`,
    caughtBy: [SEEDS, verdict('%s')],
  },
  {
    name: 'two tasks are let try at the same time',
    file: `${RECOVERY}/circuit.ts`,
    find: `  if (state.executor !== undefined)
    return decision({ send: [admit(task, { circuit, state: 'open'`,
    replace: `  if (state.executor === '')
    return decision({ send: [admit(task, { circuit, state: 'open'`,
    caughtBy: [
      SEEDS,
      workflowCircuit('tries, as the first who asks once the time is over; everybody else waits'),
    ],
  },
  {
    name: 'a verdict that comes again takes the worktree back again',
    file: `${TASKS}/task/replies/on-verdict.ts`,
    find: `  if (state.mending !== undefined) return undefined;`,
    replace: `  if (state.mending?.kind === 'continue') return undefined;`,
    caughtBy: [SEEDS, graphRecovery('is a task of its own, which is asked for until it has ended')],
  },
  {
    name: 'a job goes on although its worktree could not be taken back',
    file: `${TASKS}/task/replies/rollback.ts`,
    find: `  if (outcome === 'succeeded') return again(draft, node, verdict);`,
    replace: `  if (outcome !== 'cancelled') return again(draft, node, verdict);`,
    caughtBy: [SEEDS, graphRecovery('that has %s makes the job stuck')],
  },
  {
    name: 'nobody says that a job is stuck no more',
    file: `${TASKS}/task/graph/ending.ts`,
    find: `  draft.send(settleJob({ task: draft.task().id, node, attempt, how }, draft.now));`,
    replace: `  if (how === 'ended') draft.send(settleJob({ task: draft.task().id, node, attempt, how }, draft.now));`,
    caughtBy: [graphRecovery('is tried once more along the way back, with what the person says')],
  },
  {
    name: 'recovery is not told when it asks whether a job is still stuck',
    file: `${TASKS}/task/replies/on-verdict.ts`,
    find: `isGivingUp(verdict) ? [settleJob({ task, node, attempt, how: 'ended' }, now)] : [];`,
    replace: `isGivingUp(verdict) && now < 0 ? [settleJob({ task, node, attempt, how: 'ended' }, now)] : [];`,
    caughtBy: [SEEDS],
  },
  {
    name: 'the hint is lost on the way back to the work',
    file: `${TASKS}/task/replies/on-verdict.ts`,
    find: `{ route: node, verdict: about, ...(hint !== undefined && { hint }) }`,
    replace: `{ route: node, verdict: about }`,
    caughtBy: [SEEDS, graphRecovery('goes back to the work, with what it has to do otherwise')],
  },
  {
    name: 'a budget is extended by whatever was approved',
    file: `${TASKS}/task/model/budget.ts`,
    find: `  return gate?.grant !== undefined && asked?.extension === (task.extensions ?? 0) + 1;`,
    replace: `  return gate?.grant !== undefined && asked?.extension !== 0;`,
    caughtBy: [SEEDS],
  },
  {
    name: 'a task that is held starts when its circuit is said to be open',
    file: `${TASKS}/task/outgoing/circuits.ts`,
    find: `  if (state === 'open') {`,
    replace: `  if (state === 'open' && until === undefined) {`,
    caughtBy: [SEEDS, graphRecovery('that stays open is asked about again when its time is over')],
  },
];
