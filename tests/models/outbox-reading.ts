import type { Step } from '@holdpoint/runtime/testing/explore';
import type { Model } from './examine.ts';

/** How the publisher finds outbox rows. */
export type Reading = 'rows claimed' | 'cursor over ids';

/** A transaction draws its row id first and commits later, so ids become visible out of order. */
type Transaction = {
  readonly id: number;
  readonly row: 'drawn' | 'committed' | 'rolled back' | 'published';
};
export type OutboxWorld = {
  readonly transactions: readonly Transaction[];
  readonly cursor: number;
};

const TRANSACTIONS_MAX = 3;

const changed = (world: OutboxWorld, of: Transaction, row: Transaction['row']): OutboxWorld => ({
  ...world,
  transactions: world.transactions.map((each) => (each === of ? { ...each, row } : each)),
});

const readSteps = (world: OutboxWorld, reading: Reading): readonly Step<OutboxWorld>[] => {
  const waiting = world.transactions.filter(({ row }) => row === 'committed');
  const readable =
    reading === 'rows claimed' ? waiting : waiting.filter(({ id }) => id > world.cursor).slice(0, 1);
  return readable.map((each) => {
    const published = changed(world, each, 'published');
    const cursor = reading === 'rows claimed' ? 0 : each.id;
    return [`publish ${String(each.id)}`, { ...published, cursor }];
  });
};

export const outboxReading = (reading: Reading): Model<OutboxWorld> => ({
  start: { transactions: [], cursor: 0 },
  steps: (world) => {
    const id = world.transactions.length + 1;
    const begun = { ...world, transactions: [...world.transactions, { id, row: 'drawn' } as const] };
    return [
      ...(id <= TRANSACTIONS_MAX ? [[`begin ${String(id)}`, begun] as const] : []),
      ...world.transactions
        .filter(({ row }) => row === 'drawn')
        .flatMap((each) => [
          [`commit ${String(each.id)}`, changed(world, each, 'committed')] as const,
          [`roll back ${String(each.id)}`, changed(world, each, 'rolled back')] as const,
        ]),
      ...readSteps(world, reading),
    ];
  },
  wrong: () => [],
  rests: ({ transactions }) => transactions.every(({ row }) => row === 'published' || row === 'rolled back'),
});
