import type { Bug } from './bug.ts';
import {
  admission,
  admissionWork,
  approval,
  boardLocks,
  approvalsLaws,
  effectOrders,
  entitled,
  floored,
  floorLaws,
  httpRequest,
  programLifecycle,
  recovery,
  runner,
  FIRST_SEEDS,
  SEEDS,
  standingRule,
  standingRuleMatch,
  workOrders,
} from './tests.ts';

const REFUSED = effectOrders('an order %s is refused, recorded and not executed');

/** One bug for each promise of a service that depends on a single line. */
export const SERVICE_BUGS: readonly Bug[] = [
  {
    name: 'a principal outside the audience decides an approval',
    file: 'services/approvals/src/approval/check-decision.ts',
    find: `  if (!mayDecide({ audience, floor: request.floor }, by)) {`,
    replace: `  if (by.groups.length === 0) {`,
    caughtBy: [approval('a decision of a person outside the audience, %s, is refused and recorded once')],
  },
  {
    name: "an agent decides its own owner's request",
    file: 'services/approvals/src/approval/check-decision.ts',
    find: `  if (isOwn && by.agent !== undefined)`,
    replace: `  if (by.name === '' && by.agent !== undefined)`,
    caughtBy: [SEEDS, entitled('an agent never decides on a request of its owner')],
  },
  {
    name: 'a standing rule approves a deploy',
    file: 'packages/contracts/src/approval/standing-rule.ts',
    find: `  if (kind === 'work' || ALWAYS_A_PERSON.includes(kind)) return false;`,
    replace: `  if (kind === 'work') return false;`,
    caughtBy: [
      standingRule('a rule declines every %s'),
      standingRuleMatch('%s, whatever the rule says'),
      approvalsLaws('a rule never approves a request that needs a person'),
    ],
  },
  {
    name: 'the policy floor is not applied to a request',
    file: 'services/approvals/src/approval/decide.ts',
    find: `    const payload = applyFloor(asked, floor);`,
    replace: `    const payload = { ...asked, floor: { digest: floor.digest } };`,
    caughtBy: [
      floored('a guest who names themselves as the audience does not approve their own deploy'),
      floored('a request without an audience goes to that of the floor'),
    ],
  },
  {
    name: 'an audience outside the policy floor decides',
    file: 'packages/contracts/src/workflow/audience.ts',
    find: `(floor?.within ?? []).every((names) => isAmong(names, person));`,
    replace: `(floor?.within ?? []).every((names) => names.length > 0);`,
    caughtBy: [
      floored('a guest who names themselves as the audience does not approve their own deploy'),
      floorLaws('it is never weaker than any entry that covers the request'),
    ],
  },
  {
    name: 'a requester describes an HTTP request as a notice',
    file: 'services/approvals/src/approval/decide.ts',
    find: `  const wrong = misstated(asked.effect);`,
    replace: `  const wrong = asked.effect.uses === '' ? misstated(asked.effect) : undefined;`,
    caughtBy: [floored('%s is refused')],
  },
  {
    name: 'an executor believes kind and target of an order',
    file: 'services/executor/src/effect/admission.ts',
    find: `  const wrong = misstated(order.effect);`,
    replace: `  const wrong = order.effect.uses === '' ? misstated(order.effect) : undefined;`,
    caughtBy: [admission('is refused for %s, even with a grant for exactly this effect')],
  },
  {
    name: 'the signature of a grant is not checked',
    file: 'packages/contracts/src/values/jws.ts',
    find: 'return verify(null, Buffer.from(`${header}.${claims}`), key, bytes) ? parse(claims) : undefined;',
    replace:
      'return verify(null, Buffer.from(`${header}.${claims}`), key, bytes) || bytes.length > 0 ? parse(claims) : undefined;',
    caughtBy: [admission('a grant that %s is not valid'), REFUSED],
  },
  {
    name: 'an order without a grant is carried out for every kind',
    file: 'services/executor/src/effect/admission.ts',
    find: `  if (!isWork(order)) return without(`,
    replace: `  if (effect.task === '') return without(`,
    caughtBy: [
      admissionWork('an effect of the kind %s may not run as work, even with a work capability'),
      admissionWork('a sender without a key can start only unchanged work'),
      workOrders('an order without a grant for %s is refused, recorded and not executed'),
    ],
  },
  {
    name: 'an effect starts before its journal record is on disk',
    file: 'services/executor/src/adapters/runner/execute.ts',
    find: `    await journalStart(order, context.epoch);`,
    replace: `    void journalStart(order, context.epoch).catch(() => undefined);`,
    caughtBy: [
      runner('no effect begins before its start is in the journal'),
      runner('an unwritable journal is a clean failure'),
    ],
  },
  {
    name: 'the lease is not checked before the request is sent',
    file: 'services/executor/src/capabilities/http/send-request.ts',
    find: `      context.assertInForce();
`,
    replace: '',
    caughtBy: [httpRequest('an expired lease after connecting is a clean failure')],
  },
  {
    name: 'a missing answer counts as a clean failure',
    file: 'services/executor/src/capabilities/http/send-request.ts',
    find: 'throw new OutcomeUnknown(`sent, but no complete response: ${why}`, { cause });',
    replace: "throw clean('EXECUTOR_TARGET_UNAVAILABLE', why, { cause });",
    caughtBy: [httpRequest('a missing response is a doubt')],
  },
  {
    name: 'the effect key contains the attempt',
    file: 'services/orchestrator/src/task/outgoing/node-effects.ts',
    find: `    idempotencyKey: keyOf(renderEffectText(task, node, idempotencyKey), preview, undone),`,
    replace:
      '    idempotencyKey: `${keyOf(renderEffectText(task, node, idempotencyKey), preview, undone)}.${String(attempt)}`,',
    caughtBy: [FIRST_SEEDS],
  },
  {
    name: 'a command is never resent',
    file: 'packages/runtime/src/decider.ts',
    find: 'Math.min(firstMs * RESEND_FACTOR ** (resend - 1), lastMs)',
    replace: '365 * 86_400_000',
    caughtBy: [FIRST_SEEDS],
  },
  {
    name: 'a worker whose lease has ended is accepted',
    file: 'packages/programs/src/on-work-message.ts',
    find: `  if (lease !== task.lease) return false;
  return task.status === 'ordered' || (task.status === 'started' && task.worker === worker);`,
    replace: `  return lease <= task.lease && worker !== '' && (task.status === 'ordered' || task.status === 'started');`,
    caughtBy: [
      SEEDS,
      programLifecycle('an expired lease goes to another worker, and the first one is refused'),
    ],
  },
  {
    name: 'a resent verdict request gets a new verdict',
    file: 'services/recovery/src/attempts/decide.ts',
    find: `  if (known !== undefined && !isRefused) return decision({ send: [suggest(known, now)] });`,
    replace: `  if (known !== undefined && now < 0) return decision({ send: [suggest(known, now)] });`,
    caughtBy: [SEEDS, recovery('a repeated failure receives its verdict again under a new message id')],
  },
  {
    name: 'a shared lock is granted to an exclusive request',
    file: 'services/orchestrator/src/registry/locks.ts',
    find: `claimed === undefined || (claimed === 'shared' && mode === 'shared')`,
    replace: `claimed === undefined || claimed === 'shared'`,
    caughtBy: [SEEDS, boardLocks('shared locks are shared, until a job waits for an exclusive one')],
  },
];
