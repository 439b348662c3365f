import type { Bug } from './bug.ts';
import {
  approval,
  approvalCourse,
  approvalQuorum,
  approvalRace,
  deskLaws,
  entitled,
  ids,
  SEEDS,
  standingRule,
  standingRuleMatch,
  taskTimers,
} from './tests.ts';

const APPROVAL = 'services/approvals/src/approval/decide.ts';
const DECIDING = 'services/approvals/src/approval/decide-request.ts';
const TALLY = 'services/approvals/src/approval/tally.ts';

export const DECISION_BUGS: readonly Bug[] = [
  {
    name: 'the expiry is not compared with the clock',
    file: DECIDING,
    find: `  if (now >= state.expiresAt) {`,
    replace: `  if (now >= Infinity) {`,
    caughtBy: [SEEDS, approval('a decision %s finds the request expired')],
  },
  {
    name: 'an approval is decided by somebody outside its audience',
    file: DECIDING,
    find: `  if (!isAmong(audience, by)) {`,
    replace: `  if (by.groups.length === 0) {`,
    caughtBy: [approval('by somebody outside the audience, %s, is refused, and kept once')],
  },
  {
    name: 'a decision that came second is told that it counts',
    file: DECIDING,
    find: `  return same && had && decided.rule === undefined`,
    replace: `  return same || decided.by !== ''`,
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
    file: 'services/approvals/src/approval/close.ts',
    find: 'id: `approval.${id}.again.${String(now)}`,',
    replace: 'id: `approval.${id}.again`,',
    caughtBy: [
      approval(
        'that is repeated after the decision is answered with it again, under a new message id each time',
      ),
    ],
  },
  {
    name: 'a quorum counts votes, and not people',
    file: TALLY,
    find: `  ...votes.filter(({ by }) => by !== vote.by),`,
    replace: `  ...votes,`,
    caughtBy: [
      approvalQuorum('the same person twice is one of them'),
      deskLaws('nobody is counted twice, and never is anything approved by fewer people than its quorum'),
      approvalRace('where it takes both of them, there is no grant without both'),
    ],
  },
  {
    name: 'whoever asked decides although it takes four eyes',
    file: DECIDING,
    find: `  return isOwn && policyOf(request).fourEyes`,
    replace: `  return by.name === '' && policyOf(request).fourEyes`,
    caughtBy: [
      entitled('keep whoever asked from deciding, to %s as well'),
      deskLaws('nobody counts who was not asked by then, nor whoever asked where four eyes have to look'),
    ],
  },
  {
    name: 'an agent decides on what its owner has asked for',
    file: DECIDING,
    find: `  if (isOwn && by.agent !== undefined)`,
    replace: `  if (by.name === '' && by.agent !== undefined)`,
    caughtBy: [
      SEEDS,
      entitled('decides on nothing that its owner has asked for, whatever the gate lets people do'),
    ],
  },
  {
    name: 'a rejection is no veto',
    file: TALLY,
    find: `(policy.veto ? 1 : policy.quorum)`,
    replace: `policy.quorum`,
    caughtBy: [
      approvalQuorum('one rejection ends it, and nothing that was said before is lost'),
      deskLaws('a rejection that somebody may give ends it at once where there is a veto'),
    ],
  },
  {
    name: 'a standing rule is used once more than it may be',
    file: 'services/approvals/src/rule/rule.ts',
    find: `uses >= (spec.usesMax ?? Infinity)`,
    replace: `uses > (spec.usesMax ?? Infinity)`,
    caughtBy: [
      standingRule('is used as often as it may be, and not once more'),
      deskLaws(
        'a rule is used no more often than it may be, never once it is revoked, and once for each approval',
      ),
    ],
  },
  {
    name: 'a standing rule decides on a deploy',
    file: 'packages/contracts/src/approval/standing-rule.ts',
    find: `  if (kind === 'work' || ALWAYS_A_PERSON.includes(kind)) return false;`,
    replace: `  if (kind === 'work') return false;`,
    caughtBy: [
      standingRule('declines every %s, whatever it says: a person looks at it'),
      standingRuleMatch('%s, whatever the rule says'),
      deskLaws('a rule approves nothing that a person has to look at'),
    ],
  },
  {
    name: 'handing on forgets those who were asked before',
    file: 'services/approvals/src/approval/reminders.ts',
    find: `[...new Set([...before, ...step.audience])]`,
    replace: `[...step.audience]`,
    caughtBy: [approvalCourse('is handed on to others as well, and those of before may still decide')],
  },
  {
    name: 'a question is asked again under the same message id',
    file: 'services/orchestrator/src/task/outgoing/outgoing.ts',
    find: `export const askApproval = (task: Task, node: NodeId, ask: number): Outgoing => {`,
    replace: `export const askApproval = (task: Task, node: NodeId, ask: number): Outgoing => {
  ask = 0;`,
    caughtBy: [taskTimers('of a task that is %s is asked again on %s, under a new message id')],
  },
  {
    name: 'nobody asks again',
    file: 'packages/runtime/src/decider.ts',
    find: 'Math.min(FIRST_REPEAT_MS * REPEAT_FACTOR ** (ask - 1), LAST_REPEAT_MS)',
    replace: '365 * 86_400_000',
    caughtBy: [SEEDS],
  },
  {
    name: 'the key of an effect has the attempt in it',
    file: 'services/orchestrator/src/task/outgoing/node-effects.ts',
    find: `    idempotencyKey: keyOf(filledIn(task, node, idempotencyKey), preview, undone),`,
    replace:
      '    idempotencyKey: `${keyOf(filledIn(task, node, idempotencyKey), preview, undone)}.${String(attempt)}`,',
    caughtBy: [SEEDS],
  },
  {
    name: 'the id of an effect leaves its key out',
    file: 'packages/contracts/src/values/ids.ts',
    find: 'shortHash([task, node, idempotencyKey], 16)',
    replace: 'shortHash([task, node], 16)',
    caughtBy: [ids('differ when any part differs, and however the parts are cut')],
  },
];
