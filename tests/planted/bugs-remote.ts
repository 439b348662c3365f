import type { Bug } from './bug.ts';
import {
  callbackDecider,
  capabilityAdmission,
  CLAIM_POINTS,
  claimantOfSdk,
  claimDesk,
  claimRights,
  grantCheck,
  heldEffects,
  remoteStarts,
  vectorsInPython,
  webhookSender,
  webhookSignature,
  workerInPython,
} from './tests.ts';

/** Mistakes in the checks of remote effects. */
export const REMOTE_BUGS: readonly Bug[] = [
  {
    name: 'a claimant acts on an effect that differs from its grant',
    file: 'packages/contracts/src/effect/check-grant.ts',
    find: `if (effectDigest(effect) !== digest || `,
    replace: `if (`,
    caughtBy: [grantCheck('%s: %s')],
  },
  {
    name: 'a claimant believes an answer that is older than its lease',
    file: 'packages/sdk/src/remote/claimant.ts',
    find: `        loseIfOver(flight);
        flight.controller.signal.throwIfAborted();
`,
    replace: `        flight.controller.signal.throwIfAborted();
`,
    caughtBy: [claimantOfSdk('assertInForce throws when the answer of the ledger is older than the lease')],
  },
  {
    name: 'a beat or an end counts without its signature',
    file: 'services/executor/src/adapters/claimants/claimants.ts',
    find: `if (!isSignedByClaimant(body))`,
    replace: `if (!('signature' in body))`,
    caughtBy: [CLAIM_POINTS],
  },
  {
    name: 'any key ends the run of a claimant',
    file: 'services/executor/src/effect/remote.ts',
    find: `if (claim.x !== x) return wrongKey();`,
    replace: `if (claim.x === '') return wrongKey();`,
    caughtBy: [CLAIM_POINTS],
  },
  {
    name: 'another claim gets a start again',
    file: 'services/executor/src/effect/remote.ts',
    find: `(['claim', 'x', 'principal'] as const)`,
    replace: `(['principal'] as const)`,
    caughtBy: [CLAIM_POINTS],
  },
  {
    name: 'every prober proves that a lost claimant is gone',
    file: 'services/executor/src/effect/remote.ts',
    find: `each.seat !== undefined && each.seat === seat`,
    replace: `(each.seat !== undefined || seat !== undefined)`,
    caughtBy: [CLAIM_POINTS],
  },
  {
    name: 'a beat of an earlier start extends the lease of the next',
    file: 'services/executor/src/effect/remote.ts',
    find: `if (state.status === 'started' && state.entry.epoch === epoch && state.remote?.x === x) {`,
    replace: `if (state.status === 'started' && state.entry.epoch >= epoch && state.remote?.x === x) {`,
    caughtBy: [remoteStarts('a beat of an earlier start does not extend the lease of the next')],
  },
  {
    name: 'a claimant gets its order before the start is in the journal',
    file: 'services/executor/src/adapters/claimants/claimants.ts',
    find: `    journalStart(order, epoch).then(
`,
    replace: `    Promise.resolve(void journalStart(order, epoch)).then(
`,
    caughtBy: [claimDesk('a program gets an order only after its start is in the journal')],
  },
  {
    name: 'a request states the class of its effect itself',
    file: 'services/approvals/src/capability/admission.ts',
    find: `['class', effect.effectClass, wanted.class],`,
    replace: `['class', wanted.class, wanted.class],`,
    caughtBy: [capabilityAdmission('%s is refused')],
  },
  {
    name: 'the arguments of a request are not compared with the schema',
    file: 'services/approvals/src/capability/admission.ts',
    find: `if (problems.length > 0) return refuse('APPROVALS_ARGUMENTS_INVALID'`,
    replace: `if (problems.length > 99) return refuse('APPROVALS_ARGUMENTS_INVALID'`,
    caughtBy: [capabilityAdmission('%s is refused')],
  },
  {
    name: 'a token claims effects of every capability',
    file: 'services/executor/src/queries/claims.ts',
    find: `claims?.includes(remoteNameIn(label) ?? '') === false`,
    replace: `claims?.includes(remoteNameIn(label) ?? '') === undefined`,
    caughtBy: [claimRights('a token may claim the capabilities that it names only, %s')],
  },
  {
    name: 'a webhook of any age is accepted',
    file: 'packages/contracts/src/webhook/signature.ts',
    find: `if (Math.abs(now / 1_000 - Number(sent)) > toleranceSeconds)`,
    replace: `if (Number(sent) > now)`,
    caughtBy: [webhookSignature('a webhook from more than five minutes ago or ahead is refused')],
  },
  {
    name: 'a webhook counts without a valid signature',
    file: 'packages/contracts/src/webhook/signature.ts',
    find: `keys.some((key) => verify(null, signed, key, signature))`,
    replace: `keys.some((key) => verify(null, signed, key, signature) || true)`,
    caughtBy: [webhookSignature('a webhook is refused when it differs in %s')],
  },
  {
    name: 'a callback goes to any origin',
    file: 'services/approvals/src/surfaces/webhook/webhooks.ts',
    find: `      if (!targets.has(origin)) {\n`,
    replace: `      if (origin === '') {\n`,
    caughtBy: [webhookSender('a callback to an origin that is not listed is not sent')],
  },
  {
    name: 'a request with a callback to any origin is held',
    file: 'services/approvals/src/surfaces/http/effects/effects.ts',
    find: `    if (wanted.callback !== undefined) assertCallback(wanted.callback.url);\n`,
    replace: ``,
    caughtBy: [
      heldEffects('a callback to an origin that is not allowed is refused before anything is submitted'),
    ],
  },
  {
    name: 'a failed callback is not repeated',
    file: 'services/approvals/src/callback/callback.ts',
    find: `      return decision(attempt(order, tries + 1, now, timing));`,
    replace: `      return decision({ timers: [{ clear: SEND }] });`,
    caughtBy: [
      callbackDecider(
        'a failed attempt is repeated with doubling delays of at most an hour, and given up after the last',
      ),
    ],
  },
  {
    name: 'a claimant in Python acts on an effect that differs from its grant',
    file: 'packages/python/src/holdpoint/claiming/grants.py',
    find: `    if digest != order.digest:\n`,
    replace: `    if not digest:\n`,
    caughtBy: [
      vectorsInPython('test_a_grant_is_judged_as_by_the_contracts'),
      workerInPython('test_an_order_that_approvals_did_not_sign_is_refused'),
    ],
  },
  {
    name: 'a claimant in Python carries out a start twice',
    file: 'packages/python/src/holdpoint/claiming/runs.py',
    find: `                if (run.id, run.epoch) in self._seen:\n`,
    replace: `                if run in self._seen:\n`,
    caughtBy: [workerInPython('test_an_order_that_arrives_twice_runs_once')],
  },
  {
    name: 'a claimant in Python continues after its lease is lost',
    file: 'packages/python/src/holdpoint/claiming/claimant.py',
    find: `        if item.state == "lost":\n`,
    replace: `        if item.state == "":\n`,
    caughtBy: [workerInPython('test_a_function_asks_the_ledger_right_before_its_change')],
  },
];
