import { afterAll, describe, expect, test } from 'vitest';
import { DEAD_END } from './examine.ts';
import { ownership, type Ownership, type OwnershipWorld } from './ownership.ts';
import { caught, createTable, holding, type Row } from './rows.ts';

const HOLDS: readonly Row<OwnershipWorld>[] = [
  holding('two processes and one lease', ownership({}), 966),
  holding('a lease table restored from a backup', ownership({ restores: true }), 11_518),
];

const TRESPASS = 'committed by a process that does not own the service';
const MUTANTS: readonly (readonly [of: Ownership, verdict: string])[] = [
  [{ mutant: 'fence not checked' }, TRESPASS],
  [{ mutant: 'fence read without a lock' }, TRESPASS],
  [{ mutant: 'fence compares epochs only', restores: true }, TRESPASS],
  [{ mutant: 'lease of another clock is believed', restores: true }, DEAD_END],
  [{ mutant: 'nothing taken back at a takeover' }, DEAD_END],
  [{ mutant: 'fenced message acknowledged' }, 'acknowledged, and not decided'],
  [{ mutant: 'fenced message kept' }, DEAD_END],
];
const rows = MUTANTS.map(([of, verdict]) => caught(of.mutant ?? '', ownership(of), verdict));

const { expectRow, print } = createTable('owner of a service');
afterAll(print);

const met = ({ row, a, b, message }: OwnershipWorld): readonly string[] => [
  ...[a, b].flatMap(({ epoch, at }) => [
    at,
    ...(epoch !== undefined && epoch !== row.epoch ? [`${at} with an earlier epoch`] : []),
  ]),
  ...(a.epoch !== undefined && b.epoch !== undefined ? ['two that think they own'] : []),
  message,
];
const ALWAYS_MET = [
  'two that think they own',
  'took with an earlier epoch',
  'committed with an earlier epoch',
  'refused with an earlier epoch',
  'done',
];

describe('the owner of a service', () => {
  test.each(HOLDS)('$name', (row) => {
    const worlds = expectRow(row);
    expect([...new Set(worlds.flatMap(met))]).toEqual(expect.arrayContaining(ALWAYS_MET));
  });

  test.each(rows)('$name', (row) => {
    expectRow(row);
  });
});
