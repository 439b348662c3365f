import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { ProgramEvent } from '@holdpoint/contracts/program/events';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { watchAgentDecisions } from './agents.ts';
import { watchApprovals } from './approval-history.ts';
import { watchEffects } from './effect-history.ts';
import { type Seen, watchTarget } from './effect-target.ts';
import { type ReadGrant, watchGrants } from './grants.ts';
import type { Committed, Expect } from './invariant.ts';
import { watchLeases } from './program-leases.ts';
import { watchPhases } from './task-phases.ts';
import { watchVerdicts } from './verdicts.ts';
import { watchVersions } from './versions.ts';

/** The approvals service also stores rules and tokens. */
const OF_APPROVALS: ReadonlySet<string> = new Set(ApprovalEvent.options.map(({ shape }) => shape.type.value));

type Stored = Committed<{ readonly type: string }>;

/**
 * Every promise that stored events and the target can show. The simulator feeds it at each commit, the torture replays
 * what a run has stored.
 */
export const watchStores = (expect: Expect, readGrant: ReadGrant) => {
  const versions = new Map(SERVICES.map((service) => [service, watchVersions(expect)]));
  const phases = watchPhases(expect);
  const leases = watchLeases(expect);
  const verdicts = watchVerdicts(expect);
  const approvals = watchApprovals(expect);
  const agents = watchAgentDecisions(expect);
  const grants = watchGrants(expect, readGrant);
  const effects = watchEffects(expect);
  const target = watchTarget(expect);
  const seenEffects = new Set<string>();

  const byService: Readonly<Record<ServiceName, (stored: Stored) => void>> = {
    orchestrator: (stored) => {
      // The lock registry has no phase.
      if (!('phase' in stored.event)) return;
      phases(stored as Committed<TaskEvent | ProgramEvent>);
      leases(stored as Committed<TaskEvent | ProgramEvent>);
      verdicts.ofTask(stored as Committed<TaskEvent>);
    },
    approvals: (stored) => {
      if (!OF_APPROVALS.has(stored.event.type)) return;
      const approval = stored as Committed<ApprovalEvent>;
      approvals(approval);
      agents(approval);
      grants.ofApproval(approval);
    },
    executor: (stored) => {
      const effect = stored as Committed<EffectEvent>;
      seenEffects.add(effect.aggregate);
      effects.ofEffect(effect);
      grants.ofEffect(effect);
      target.ofEffect(effect);
    },
    recovery: (stored) => verdicts.ofRecovery(stored as Committed<RecoveryEvent>),
  };

  return {
    /** One event of a service, in the order of commits. */
    committed: (service: ServiceName, stored: Stored): void => {
      versions.get(service)?.(stored);
      byService[service](stored);
    },
    /** One application by the target. */
    applied: (seen: Seen): void => {
      grants.ofApplication(seen.effect);
      target.ofApplication(seen);
    },
    /** Once nothing is in progress any more. */
    atEnd: (): void => {
      for (const effect of seenEffects) effects.atEnd(effect);
    },
  };
};
