import { afterAll, describe, expect, test } from 'vitest';
import { delivery, type Delivery, type DeliveryWorld } from './delivery.ts';
import { DEAD_END } from './examine.ts';
import { outboxReading } from './outbox-reading.ts';
import { caught, createTable, holding, type Row } from './rows.ts';

/** The outbox and late acknowledgements deliver everything, as long as the bus keeps confirmed messages. */
const alone: Delivery = { bus: 'keeps', asks: 'once', workers: 2 };
/** Only a resend delivers what the bus lost. */
const repeated: Delivery = { bus: 'forgets', asks: 'again', workers: 2 };
const repeatedByOne: Delivery = { ...repeated, workers: 1 };

const HOLDS: readonly Row<DeliveryWorld>[] = [
  holding('bus keeps, asked once', delivery(alone), 1_045),
  holding('bus forgets, asked again', delivery(repeated), 2_889),
];

const MUTANTS: readonly (readonly [of: Delivery, verdict: string])[] = [
  [{ ...alone, mutant: 'ack before commit' }, DEAD_END],
  [{ ...alone, mutant: 'publish before commit' }, 'answered, and not counted'],
  [{ ...alone, mutant: 'outbox row deleted before the publish is confirmed' }, DEAD_END],
  [{ ...repeatedByOne, mutant: 'timer deleted before its message is handled' }, DEAD_END],
  [{ ...repeatedByOne, mutant: 'asked again under the same message id' }, DEAD_END],
  [{ ...repeatedByOne, mutant: 'not answered again' }, DEAD_END],
  [{ ...alone, mutant: 'effect started while the message is held' }, 'effect started twice'],
  [{ ...alone, mutant: 'effect started while the message is held' }, 'effect started, and not recorded'],
  [{ ...alone, mutant: 'effect started by a repeat' }, 'effect started twice'],
  [{ ...alone, mutant: 'counted whenever it comes' }, 'counted twice'],
  [{ ...alone, mutant: 'decided before the lock' }, 'counted twice'],
];

const rows = [
  ...MUTANTS.map(([of, verdict]) => caught(of.mutant ?? '', delivery(of), verdict)),
  caught('bus forgets, and nobody asks again', delivery({ ...repeatedByOne, asks: 'once' }), DEAD_END),
];

const { expectRow, print } = createTable('delivery of a question and its answer');
afterAll(print);

/** Each worker operation and each message position must occur in some world. */
const met = ({ counted, answered, workers, outbox, bus }: DeliveryWorld): readonly string[] => [
  ...(counted > 0 ? ['counted'] : []),
  ...(answered ? ['answered'] : []),
  ...workers.map(({ takes, left }) => `${takes} before ${left[0] ?? 'nothing'}`),
  ...outbox.map(({ is, known }) => `${is} in the outbox${known ? ', known to the bus' : ''}`),
  ...(bus.ask > 1 ? ['ask on the bus twice'] : []),
  ...(bus.answer > 1 ? ['answer on the bus twice'] : []),
];
const ALWAYS_MET = [
  'answer before ack',
  'answer before commit',
  'answer in the outbox',
  'answer in the outbox, known to the bus',
  'answer on the bus twice',
  'answered',
  'ask before ack',
  'ask before commit',
  'ask in the outbox',
  'ask in the outbox, known to the bus',
  'ask on the bus twice',
  'counted',
];

describe('the delivery of a message', () => {
  test.each(HOLDS)('$name', (row) => {
    const worlds = expectRow(row);
    expect([...new Set(worlds.flatMap(met))]).toEqual(expect.arrayContaining(ALWAYS_MET));
  });

  test.each(rows)('$name', (row) => {
    expectRow(row);
  });
});

describe('the outbox', () => {
  test('reading the outbox by claims finds every row', () => {
    expectRow(holding('outbox, rows claimed', outboxReading('rows claimed'), 85));
  });

  test('reading the outbox by a cursor misses late commits', () => {
    expectRow(caught('outbox read by a cursor over ids', outboxReading('cursor over ids'), DEAD_END));
  });
});
