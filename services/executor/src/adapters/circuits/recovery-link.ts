import type { CircuitEvent, ReportCircuit } from '@holdpoint/contracts/recovery/circuit';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { followCircuits } from '@holdpoint/runtime/bus/circuits';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { Announce } from '@holdpoint/runtime/engine/ports';
import type { Circuits, CircuitUpdate } from './circuits.ts';

/** Bounds the pages of circuits that are read. */
const PAGES_MAX = 20;

const updateFrom = (event: CircuitEvent): CircuitUpdate | undefined => {
  const { target } = event;
  switch (event.type) {
    case 'circuit_opened':
      return { target, state: 'open' };
    case 'circuit_half_opened':
      return { target, state: 'half_open', executor: event.executor };
    case 'circuit_closed':
      return { target, state: 'closed' };
    case 'circuit_failure_recorded':
      return undefined;
  }
};

/** Reports to recovery. The bus keeps the report until recovery is up. */
export const reportToRecovery =
  (announce: Announce) =>
  (report: ReportCircuit): boolean =>
    announce(subjects.recoveryCommand('circuit_report'), JSON.stringify(report));

/** Follows the circuits of recovery. A start before `asked` has resolved may use a target whose circuit is open. */
export const followRecovery = (
  listener: Listener,
  circuits: Pick<Circuits, 'update' | 'updateAll'>,
  clock: Clock,
): { readonly asked: Promise<void>; readonly stop: () => void } =>
  followCircuits(listener, clock, PAGES_MAX, {
    hear: (fact) => {
      const said = updateFrom(fact);
      if (said !== undefined) circuits.update(said);
    },
    hearAll: circuits.updateAll,
  });
