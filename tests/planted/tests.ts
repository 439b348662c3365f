import type { Catch } from './bug.ts';

const of =
  (file: string) =>
  (title: string): Catch => ({ file, title });

/** The simulator's fixed seeds: the real engine, intake and deciders on a machine that fails. */
export const SEEDS: Catch = of('tests/simulation/simulation.test.ts')(
  'in the same seeds each time, in which everything happens that may',
);

export const engine = of('packages/runtime/src/engine.test.ts');
export const engineOutbox = of('packages/runtime/src/engine-outbox.test.ts');
export const engineTimers = of('packages/runtime/src/engine-timers.test.ts');
export const engineFailures = of('packages/runtime/src/engine-failures.test.ts');
export const batch = of('packages/runtime/src/batch.test.ts');
export const cache = of('packages/runtime/src/cache.test.ts');
export const intake = of('packages/runtime/src/intake.test.ts');
export const publisher = of('packages/runtime/src/nats/publisher.test.ts');
export const settling = of('packages/runtime/src/nats/settle-letters.test.ts');
export const ids = of('packages/contracts/src/ids.test.ts');
export const uses = of('tests/repo/uses.test.ts');
export const retention = of('tests/integration/retention.int.test.ts');
export const store = of('tests/integration/store-contract.int.test.ts');
export const enginePostgres = of('tests/integration/engine-postgres.int.test.ts');
export const crashPoints = of('tests/integration/crash-points.int.test.ts');
export const approval = of('services/approvals/src/domain/approval.test.ts');
export const approvalQuorum = of('services/approvals/src/domain/quorum.test.ts');
export const approvalCourse = of('services/approvals/src/domain/course.test.ts');
export const entitled = of('services/approvals/src/domain/entitled.test.ts');
export const standingRule = of('services/approvals/src/domain/rule.test.ts');
export const standingRuleMatch = of('packages/contracts/src/standing-rule.test.ts');
export const deskLaws = of('services/approvals/src/domain/desk-laws.test.ts');
export const approvalRace = of('tests/models/approval-race.test.ts');
export const taskTimers = of('services/orchestrator/src/domain/task-timers.test.ts');
export const boardLocks = of('services/orchestrator/src/domain/board/board-locks.test.ts');
export const graphFound = of('services/orchestrator/src/domain/graph-found.test.ts');
export const graphLoops = of('services/orchestrator/src/domain/graph-loops.test.ts');
export const programLifecycle = of('packages/programs/src/lifecycle.test.ts');
export const admission = of('services/executor/src/domain/admission.test.ts');
export const admissionWork = of('services/executor/src/domain/admission-work.test.ts');
export const effectWork = of('services/executor/src/domain/effect-work.test.ts');
export const workOrders = of('tests/integration/work-orders.int.test.ts');
export const effectAnswer = of('services/executor/src/domain/effect-answer.test.ts');
export const effectProbe = of('services/executor/src/domain/effect-probe.test.ts');
export const effectOutcome = of('services/executor/src/domain/effect-outcome.test.ts');
export const effectExploration = of('services/executor/src/domain/effect-exploration.test.ts');
export const effectOrder = of('services/executor/src/domain/effect-order.test.ts');
export const effectOrders = of('tests/integration/effect-orders.int.test.ts');
export const httpRequest = of('services/executor/src/capabilities/http/http-request.test.ts');
export const httpAddress = of('services/executor/src/adapters/http-address.test.ts');
export const keyedFile = of('services/executor/src/adapters/keyed-file.test.ts');
export const runner = of('services/executor/src/adapters/runner.test.ts');
export const recovery = of('services/recovery/src/domain/recovery.test.ts');
export const verdict = of('services/recovery/src/domain/verdict.test.ts');
export const circle = of('services/recovery/src/domain/circle.test.ts');
export const workflowCircuit = of('services/recovery/src/domain/workflow-circuit.test.ts');
export const graphRecovery = of('services/orchestrator/src/domain/graph-recovery.test.ts');
