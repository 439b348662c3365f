import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { afterAll, describe, expect, test } from 'vitest';
import { effectLedger, realDecider } from './effect-ledger.ts';
import { createTable, holding } from './rows.ts';

const STARTS_MAX = 2;
const modelOf = (effectClass: EffectClass) =>
  effectLedger({ effectClass, decider: realDecider, startsMax: STARTS_MAX });

const WORLDS_KNOWN: Readonly<Record<EffectClass, number>> = {
  fenced: 14_675,
  keyed: 39_967,
  probeable: 32_847,
  idempotent: 14_675,
  opaque: 33_219,
};
const holds = (Object.keys(WORLDS_KNOWN) as EffectClass[]).map((effectClass) => ({
  effectClass,
  row: holding(`${effectClass}: as it stands`, modelOf(effectClass), WORLDS_KNOWN[effectClass]),
}));

const { expectRow, print } = createTable('effect ledger, around the decider of the executor');
afterAll(print);

describe('the ledger of an effect', () => {
  test.each(holds)('the ledger model holds for $row.name', ({ effectClass, row }) => {
    const worlds = expectRow(row);
    const statuses = new Set(
      worlds.map(({ ledger }) => (ledger.status === 'in_doubt' ? `in_doubt: ${ledger.next}` : ledger.status)),
    );
    expect([...statuses].sort()).toEqual([
      'absent',
      'applied',
      'cancelled',
      'failed_clean',
      'in_doubt: person',
      ...(effectClass === 'probeable' ? ['in_doubt: probe'] : []),
      'in_doubt: repeat',
      // Approvers answer in three of the models; every grant is valid in one of them.
      ...(effectClass === 'fenced' || effectClass === 'idempotent' ? [] : ['not_applied']),
      'prepared',
      ...(effectClass === 'probeable' ? [] : ['refused']),
      'started',
    ]);
  });
});
