import type { Catch } from './bug.ts';

const of =
  (file: string) =>
  (title: string): Catch => ({ file, title });

/** The simulator with its fixed seeds. */
export const SEEDS: Catch = of('tests/simulation/simulation.long.test.ts')(
  'the fixed seeds hold every invariant and cover every event and every fault',
);

/** The simulator's seeds of `npm test`. */
export const FIRST_SEEDS: Catch = of('tests/simulation/simulation.test.ts')(
  'every invariant holds in the first sixteen seeds',
);

export const engine = of('packages/runtime/src/engine/engine.test.ts');
export const engineOutbox = of('packages/runtime/src/engine/engine-outbox.test.ts');
export const engineRest = of('packages/runtime/src/engine/engine-rest.test.ts');
export const engineReplicas = of('packages/runtime/src/engine/engine-replicas.test.ts');
export const engineFailures = of('packages/runtime/src/engine/engine-failures.test.ts');
export const engineTimers = of('packages/runtime/src/engine/engine-timers.test.ts');
export const announced = of('packages/runtime/src/engine/announced.test.ts');
export const batch = of('packages/runtime/src/engine/batch.test.ts');
export const host = of('packages/runtime/src/host/host.test.ts');
export const overlap = of('packages/runtime/src/host/overlap.test.ts');
export const cache = of('packages/runtime/src/host/cache.test.ts');
export const intake = of('packages/runtime/src/engine/intake.test.ts');
export const seals = of('packages/runtime/src/engine/seals.test.ts');
export const sealFormat = of('packages/contracts/src/bus/seal.test.ts');
export const busSenders = of('packages/contracts/src/bus/senders.test.ts');
export const lanes = of('packages/runtime/src/host/lanes.test.ts');
export const trustedKeys = of('packages/runtime/src/service/trusted-keys.test.ts');
export const enrolment = of('packages/contracts/src/approval/enrolment.test.ts');
export const webhookSignature = of('packages/contracts/src/webhook/signature.test.ts');
export const webhookSender = of('services/approvals/src/surfaces/webhook/webhooks.test.ts');
export const heldEffects = of('services/approvals/src/surfaces/http/effects/effects.test.ts');
export const callbackDecider = of('services/approvals/src/callback/callback.test.ts');
export const claimantOfSdk = of('packages/sdk/src/remote/claimant.test.ts');
export const executorReach = of('services/approvals/src/executor/reach.test.ts');
export const forgedOrder = of('packages/sdk/src/activation/forged-order.test.ts');
export const positions = of('packages/runtime/src/bus/consumer-positions.test.ts');
export const objectStore = of('tests/integration/runtime/object-store.int.test.ts');
export const examineBus = of('packages/runtime/src/bus/examine-bus.test.ts');
export const oddMessages = of('tests/integration/bus/odd-messages.int.test.ts');
export const existingNats = of('tests/integration/bus/existing-nats.int.test.ts');
export const natsLogin = of('packages/contracts/src/bus/nats-login.test.ts');
export const publisher = of('packages/runtime/src/bus/publisher.test.ts');
export const uses = of('tests/repo/uses.test.ts');
export const retention = of('tests/integration/tasks/retention.int.test.ts');
export const store = of('tests/integration/runtime/store-contract.int.test.ts');
export const ownership = of('tests/integration/runtime/ownership.int.test.ts');
export const enginePostgres = of('tests/integration/runtime/engine-postgres.int.test.ts');
export const crashPoints = of('tests/integration/runtime/crash-points.int.test.ts');
export const inboxService = of('tests/integration/approvals/inbox-service.int.test.ts');
export const approval = of('services/approvals/src/approval/decide.test.ts');
export const identity = of('packages/runtime/src/service/identity.test.ts');
export const unverified = of('services/approvals/src/approval/unverified.test.ts');
export const reviews = of('services/orchestrator/src/task/operator/record-review.test.ts');
export const gateCalls = of('packages/workflows/src/gate/documented.test.ts');
export const mayCommand = of('services/orchestrator/src/task/operator/may-command.test.ts');
export const senders = of('services/orchestrator/src/bindings.test.ts');
export const personNames = of('packages/contracts/src/values/person.test.ts');
export const rollbackRule = of('services/approvals/src/rule/rollback-rule.test.ts');
export const rollbackMark = of('services/orchestrator/src/task/rollback-mark.test.ts');
export const accessToken = of('services/approvals/src/token/access-token.test.ts');
export const authentication = of('services/approvals/src/adapters/identity/create-identity.test.ts');
export const people = of('services/approvals/src/people/people.test.ts');
export const entitled = of('services/approvals/src/approval/entitled.test.ts');
export const floored = of('services/approvals/src/approval/floor.test.ts');
export const floorLaws = of('services/approvals/src/policy/apply-floor.test.ts');
export const standingRule = of('services/approvals/src/rule/decide.test.ts');
export const standingRuleMatch = of('packages/contracts/src/approval/standing-rule.test.ts');
export const approvalsLaws = of('services/approvals/src/aggregates-laws.test.ts');
export const boardLocks = of('services/orchestrator/src/registry/registry-locks.test.ts');
export const programLifecycle = of('packages/programs/src/lifecycle.test.ts');
export const onError = of('packages/sdk/src/activation/phases/on-error.test.ts');
export const dispatch = of('packages/sdk/src/worker/dispatch.test.ts');
export const admission = of('services/executor/src/effect/admission.test.ts');
export const admissionWork = of('services/executor/src/effect/admission-work.test.ts');
export const workOrders = of('tests/integration/executor/work-orders.int.test.ts');
export const effectCrashes = of('services/executor/src/effect/crashes.test.ts');
export const effectOrders = of('tests/integration/executor/effect-orders.int.test.ts');
export const httpRequest = of('services/executor/src/capabilities/http/http-request.test.ts');
export const confinement = of('services/executor/src/adapters/process/confinement.test.ts');
export const clientAddress = of('services/approvals/src/surfaces/http/source.test.ts');
export const preparation = of('packages/runtime/src/host/preparation.test.ts');
export const redaction = of('services/executor/src/adapters/secrets/hide-stream.test.ts');
export const slots = of('services/executor/src/adapters/slots/slots.test.ts');
export const reconciliation = of('services/executor/src/effect/reconciliation.test.ts');
export const runner = of('services/executor/src/adapters/runner/runner.test.ts');
export const gateDecisions = of('services/orchestrator/src/task/gate-decisions.test.ts');
export const recovery = of('services/recovery/src/attempts/decide.test.ts');
export const verdicts = of('services/recovery/src/attempts/verdict.test.ts');
export const circles = of('services/recovery/src/attempts/circular.test.ts');
export const classes = of('services/recovery/src/classification/classify.test.ts');
export const dependents = of('services/orchestrator/src/task/outgoing/dependents.test.ts');
export const effectArguments = of('services/orchestrator/src/task/effect-arguments.test.ts');
export const mcpScopes = of('packages/cli/src/mcp/scopes.test.ts');
export const surfaceScopes = of('services/approvals/src/surfaces/scopes.test.ts');
export const shownEffect = of('packages/contracts/src/approval/shown-effect.test.ts');
export const submitDecision = of('services/approvals/src/submit-decision.test.ts');
export const grantCheck = of('packages/contracts/src/effect/check-grant.test.ts');
export const claimRights = of('services/executor/src/queries/claims.test.ts');
export const capabilityAdmission = of('services/approvals/src/capability/admission.test.ts');
export const remoteStarts = of('services/executor/src/effect/remote.test.ts');
export const claimDesk = of('services/executor/src/adapters/claimants/claimants.test.ts');

export const workerInPython = of('packages/python/tests/test_worker.py');
export const vectorsInPython = of('packages/python/tests/test_vectors.py');

/** The crash points of claimants in `npm test`. */
export const CLAIM_POINTS: Catch = of('tests/crash-points/crash-points.test.ts')(
  'no effect of claimants is doubled or ungated in nine hundred crash points',
);
