import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { watchStores } from '../../invariants/stores.ts';
import type { ReadGrant } from '../../invariants/grants.ts';
import type { ProgramEvidence, StoredAggregate, StoredEvent, TaskEvidence } from '../evidence/evidence.ts';
import type { Application } from '../workload/target.ts';
import type { Finding } from './check.ts';

/** The shared invariants of each check. */
export const INVARIANTS = {
  K1: [
    'versions are gapless',
    'a task starts with its submission',
    'a task takes only allowed phase transitions',
    'a task ends once, unless a person restarts it',
  ],
  K3: [
    'an effect reaches the target at most once, unless it is declared idempotent',
    'nothing reaches the target that the ledger records as not applied',
  ],
  K4: [
    'the ledger records as applied only what the target applied',
    'the ledger records as not applied only what the target did not apply',
    'nothing reaches the target that the ledger records as not applied',
  ],
  K5: [
    'an effect starts only with a grant for exactly this effect',
    'the target applies only what was approved before',
  ],
  K6: [
    'an approval is requested once, as its first event',
    'an approval is resolved once',
    'an approval expires only after its deadline',
    'an approval is decided only before its deadline',
    'an approval has as many approvers as its quorum',
  ],
  K7: [
    'an effect starts only while no start is open and none was applied',
    'an effect that may have happened is repeated only where that is harmless or a person wants it',
    'every start has an outcome or is in doubt',
  ],
  K11: [
    'the epoch of an effect only rises',
    'an outcome counts only under the current epoch',
    'late evidence carries an earlier epoch',
  ],
  K21: [
    'the answer to a question about an effect in doubt decides what follows',
    'a prevented repeat follows a start and its outcome',
    'a repeat is prevented once for each attempt',
  ],
  K23: ['a failure has one verdict', 'the verdict decides what follows a failure'],
  K29: ['leases rise by one', 'a lease has one holder', 'a phase is recorded only under its current lease'],
  K32: ['no agent decides a request of its owner'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type SharedCheck = keyof typeof INVARIANTS;

const checksOf = (invariant: string): readonly SharedCheck[] =>
  (Object.keys(INVARIANTS) as SharedCheck[]).filter((id) =>
    (INVARIANTS[id] as readonly string[]).includes(invariant),
  );

type Stores = ReturnType<typeof watchStores>;
type Step = {
  readonly at: number;
  /** Orders steps of the same millisecond: causes first. */
  readonly rank: number;
  readonly run: (stores: Stores) => void;
};

const RANKS: Readonly<Record<ServiceName, number>> = {
  approvals: 0,
  recovery: 1,
  orchestrator: 2,
  executor: 3,
};
const APPLICATION_RANK = 4;

const timeOf = ({ at, type, data }: StoredEvent): number =>
  type === 'resolved' ? Number(data['at'] ?? at) : at;

const stepsOf = (service: ServiceName, aggregates: readonly StoredAggregate[]): readonly Step[] =>
  aggregates.flatMap(({ id, events }) => {
    let latest = 0;
    return events.map((event) => {
      // Versions order the events of one aggregate, the clock orders aggregates.
      latest = Math.max(latest, timeOf(event));
      return {
        at: latest,
        rank: RANKS[service],
        run: (stores: Stores) =>
          stores.committed(service, {
            aggregate: id,
            version: event.version,
            at: event.at,
            event: event.data as { readonly type: string },
          }),
      };
    });
  });

/** A target without a clock is assumed to apply right after the last start. */
const applicationTime = ({ key, at }: Application, effects: readonly StoredAggregate[]): number =>
  at ??
  effects.find(({ id }) => id === key)?.events.findLast(({ type }) => type === 'started')?.at ??
  Infinity;

/** Signatures are not checked here: that is the subject of the executor's tests. */
const readGrant: ReadGrant = (grant) => {
  const [, claims = ''] = grant.split('.');
  try {
    return JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as ReturnType<ReadGrant>;
  } catch {
    return undefined;
  }
};

type Findings = ReadonlyMap<SharedCheck, Finding>;

const replayed = (about: string, steps: readonly Step[]): Findings => {
  const findings = new Map<SharedCheck, { checked: number; readonly violations: string[] }>();
  const stores = watchStores((invariant, holds, _, detail) => {
    const checks = checksOf(invariant);
    if (checks.length === 0) throw new Error(`no check of the torture has the invariant: ${invariant}`);
    for (const check of checks) {
      const finding = findings.get(check) ?? { checked: 0, violations: [] };
      findings.set(check, finding);
      finding.checked += 1;
      if (!holds) finding.violations.push(`${about}: ${invariant}: ${detail()}`);
    }
  }, readGrant);
  for (const { run } of steps.toSorted((a, b) => a.at - b.at || a.rank - b.rank)) run(stores);
  stores.atEnd();
  return findings;
};

const known = new WeakMap<object, Findings>();
const once = (evidence: object, find: () => Findings): Findings => {
  const findings = known.get(evidence) ?? find();
  known.set(evidence, findings);
  return findings;
};

const NOTHING: Finding = { checked: 0, violations: [] };

/** The findings of one check about a task. One replay serves all checks. */
export const replayTask = (id: SharedCheck, evidence: TaskEvidence): Finding =>
  once(evidence, () => {
    const { task, approvals, effects, works, recovery, applications } = evidence;
    return replayed(evidence.id, [
      ...stepsOf('approvals', approvals),
      ...stepsOf('recovery', recovery === undefined ? [] : [recovery]),
      ...stepsOf('orchestrator', task === undefined ? [] : [task]),
      ...stepsOf('executor', [...effects, ...works]),
      ...applications.map((application) => ({
        at: applicationTime(application, effects),
        rank: APPLICATION_RANK,
        run: (stores: Stores) => stores.applied({ effect: application.key, epoch: application.epoch }),
      })),
    ]);
  }).get(id) ?? NOTHING;

/** The same for a program. The task of its effect has its own evidence. */
export const replayProgram = (id: SharedCheck, evidence: ProgramEvidence): Finding =>
  once(evidence, () =>
    replayed(evidence.id, [
      ...stepsOf('approvals', evidence.questions),
      ...stepsOf('orchestrator', evidence.program === undefined ? [] : [evidence.program]),
    ]),
  ).get(id) ?? NOTHING;

export const together = (...findings: readonly Finding[]): Finding => ({
  checked: findings.reduce((sum, { checked }) => sum + checked, 0),
  violations: findings.flatMap(({ violations }) => violations),
});
