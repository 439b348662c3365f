import type { Bug } from './bug.ts';
import { approval, ids, SEEDS, taskTimers } from './tests.ts';

const APPROVAL = 'services/approvals/src/domain/approval.ts';

export const DECISION_BUGS: readonly Bug[] = [
  {
    name: 'the expiry is not compared with the clock',
    file: APPROVAL,
    find: `      if (now >= state.expiresAt) {`,
    replace: `      if (now >= Infinity) {`,
    caughtBy: [SEEDS, approval('a decision %s finds the request expired')],
  },
  {
    name: 'an approval is decided by somebody outside its audience',
    file: APPROVAL,
    find: `      if (!state.request.audience.some((group) => by.groups.includes(group))) {`,
    replace: `      if (by.groups.length === 0) {`,
    caughtBy: [approval('by somebody outside the audience is refused')],
  },
  {
    name: 'a decision that came second is told that it counts',
    file: APPROVAL,
    find: `      return same && decided.by === by.name`,
    replace: `      return same || decided.by !== ''`,
    caughtBy: [
      approval('that comes too late, from %s, is told what was decided'),
      {
        file: 'tests/integration/bad-decisions.int.test.ts',
        title: 'of many at once: one stands, and everybody is told which',
      },
    ],
  },
  {
    name: 'what is asked for is not held against its digest',
    file: APPROVAL,
    find: `    effectDigest(effect) === digest &&
    effectIdOf`,
    replace: `    effectIdOf`,
    caughtBy: [approval('with %s is refused')],
  },
  {
    name: 'an approval is answered again under the same message id',
    file: APPROVAL,
    find: 'id: `approval.${id}.again.${String(now)}`,',
    replace: 'id: `approval.${id}.again`,',
    caughtBy: [
      approval(
        'that is repeated after the decision is answered with it again, under a new message id each time',
      ),
    ],
  },
  {
    name: 'a question is asked again under the same message id',
    file: 'services/orchestrator/src/domain/asks.ts',
    find: `export const askApproval = (task: Task, node: NodeId, ask: number): Outgoing => {`,
    replace: `export const askApproval = (task: Task, node: NodeId, ask: number): Outgoing => {
  ask = 0;`,
    caughtBy: [taskTimers('of a task that is %s is asked again on %s, under a new message id')],
  },
  {
    name: 'nobody asks again',
    file: 'services/orchestrator/src/domain/asks.ts',
    find: 'Math.min(FIRST_REPEAT_MS * REPEAT_FACTOR ** (ask - 1), LAST_REPEAT_MS)',
    replace: '365 * 86_400_000',
    caughtBy: [SEEDS],
  },
  {
    name: 'the key of an effect has the attempt in it',
    file: 'services/orchestrator/src/domain/effects.ts',
    find: `    idempotencyKey: keyOf(renderedText(task, idempotencyKey), preview),`,
    replace:
      '    idempotencyKey: `${keyOf(renderedText(task, idempotencyKey), preview)}.${String(attempt)}`,',
    caughtBy: [SEEDS],
  },
  {
    name: 'the id of an effect leaves its key out',
    file: 'packages/contracts/src/ids.ts',
    find: 'shortHash([task, node, idempotencyKey], 16)',
    replace: 'shortHash([task, node], 16)',
    caughtBy: [ids('differ when any part differs, and however the parts are cut')],
  },
];
