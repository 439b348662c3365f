import { CircuitState } from '@holdpoint/contracts/recovery/circuit';
import type { AddGauge } from '@holdpoint/runtime/observability/metrics';
import type { Places } from '../slots/slots.ts';
import type { Circuits } from './circuits.ts';

/** For whoever watches: how much runs, how much waits, and how the circuits stand that are known here. */
export const showFigures = (
  gauge: AddGauge,
  places: Pick<Places, 'inUse' | 'waiting'>,
  circuits: Pick<Circuits, 'states'>,
): void => {
  gauge('places_in_use', 'Orders that are being carried out', [], () => [
    { labels: {}, value: places.inUse() },
  ]);
  gauge('places_waited_for', 'Orders that wait for a place here', [], () => [
    { labels: {}, value: places.waiting() },
  ]);
  gauge('circuit_state', '1 for the state of the circuit of a target', ['target', 'state'], () =>
    circuits.states().flatMap(({ target, state }) =>
      CircuitState.options.map((each) => ({
        labels: { target, state: each },
        value: each === state ? 1 : 0,
      })),
    ),
  );
};
