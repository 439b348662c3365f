import type { CircuitEvent, ReportCircuit } from '@holdpoint/contracts/recovery/circuit';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { followCircuits } from '@holdpoint/runtime/bus/circuits';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import type { Announce } from '@holdpoint/runtime/engine/ports';
import type { Circuits, CircuitUpdate } from './circuits.ts';

/** More circuits than this are more targets than executors are ever given. */
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

/** Tells recovery; on its way it is kept by the bus, until recovery is there. */
export const reportToRecovery =
  (announce: Announce) =>
  (report: ReportCircuit): boolean =>
    announce(subjects.recoveryCommand('circuit_report'), JSON.stringify(report));

/**
 * Hears what recovery says of circuits. What is started before `asked` has resolved may go to a target that everybody else
 * knows to be away.
 */
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
