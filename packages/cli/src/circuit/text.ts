import type { CircuitView } from '@holdpoint/contracts/recovery/circuit';
import type { Client } from '../bus/client.ts';
import { listing } from '../output/columns.ts';
import { everyPage } from '../bus/every-page.ts';

const NAMES = { open: 'open', half_open: 'half open', closed: 'closed' } as const;

const next = ({ state, until, executor }: CircuitView): string => {
  if (state === 'closed') return '';
  if (state === 'half_open')
    return executor === undefined ? 'until a trial succeeds' : `${executor} runs the trial`;
  const end = new Date(until ?? Number.NaN);
  return Number.isNaN(end.getTime()) ? 'until you close it' : `until ${end.toISOString()}`;
};

const lineOf = (circuit: CircuitView): readonly string[] => [
  circuit.target,
  NAMES[circuit.state],
  next(circuit),
  `${circuit.by}${circuit.reason === undefined ? '' : `: ${circuit.reason}`}`,
];

const PAGES_MAX = 20;

export const allCircuits = (client: Client): Promise<readonly CircuitView[]> =>
  everyPage(PAGES_MAX, (cursor) => client.call('recovery', 'circuits', cursor));

export const circuitLines = (items: readonly CircuitView[]): readonly string[] =>
  items.length === 0
    ? ['no circuits: no target has failed']
    : listing(['Target', 'State', 'Until', 'Reason'], items.map(lineOf));

export const circuitLine = ({ target, state }: CircuitView): string => `${target} is ${NAMES[state]}`;
