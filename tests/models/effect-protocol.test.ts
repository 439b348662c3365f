import { afterAll, describe, expect, test } from 'vitest';
import { effectProtocol, type Protocol, type ProtocolWorld } from './effect-protocol.ts';
import { caught, createTable, holding, type Row } from './rows.ts';

const CLASSES = {
  opaque: { target: 'plain', doubt: 'person' },
  idempotent: { target: 'plain', doubt: 'repeat', harmless: true, wireDoubles: true },
  keyed: { target: 'keyed', doubt: 'repeat', wireDoubles: true },
  fenced: { target: 'fenced', doubt: 'probe and repeat', wireDoubles: true },
  fencedClosed: { target: 'fenced', doubt: 'probe and close', wireDoubles: true },
  probeable: { target: 'plain', doubt: 'probe and repeat' },
  probeableClosed: { target: 'plain', doubt: 'probe and close' },
} satisfies Record<string, Protocol>;

const { opaque, idempotent, keyed, fenced, fencedClosed, probeable, probeableClosed } = CLASSES;
const TWICE = 'applied twice';
const NOT_SO = 'recorded as not applied, and is';

const HOLDS: readonly Row<ProtocolWorld>[] = [
  holding('opaque: a doubt waits for a person', effectProtocol(opaque), 118),
  holding('idempotent: repeated', effectProtocol(idempotent), 1_805),
  holding('keyed: repeated inside the window', effectProtocol(keyed), 2_506),
  holding('fenced: fence raised, probed, ordered again', effectProtocol(fenced), 1_694),
  holding('fenced: fence raised, probed, closed', effectProtocol(fencedClosed), 144),
  holding('probeable: quiet, probed, ordered again', effectProtocol(probeable), 156),
  holding('probeable: quiet, probed, closed', effectProtocol(probeableClosed), 38),
];

const MUTANTS: readonly (readonly [protocol: Protocol, verdict: string])[] = [
  [{ ...opaque, mutant: 'no intent before the act' }, TWICE],
  [{ ...opaque, mutant: 'lease over: ordered again' }, TWICE],
  [{ ...opaque, doubt: 'repeat' }, TWICE],
  [{ ...keyed, mutant: 'repeat after the window' }, TWICE],
  [{ ...keyed, mutant: 'record of any epoch' }, NOT_SO],
  [{ ...keyed, mutant: 'repeat that failed closes' }, NOT_SO],
  [{ ...keyed, mutant: 'refusal believed though a copy is on its way' }, NOT_SO],
  [{ ...fenced, mutant: 'fence not raised' }, TWICE],
  [{ ...fencedClosed, mutant: 'fence not raised' }, NOT_SO],
  [{ ...fenced, mutant: 'fence raised after the probe' }, TWICE],
  [{ ...probeable, mutant: 'probe before all is quiet' }, TWICE],
  [{ ...probeableClosed, mutant: 'probe before all is quiet' }, NOT_SO],
];

const { expectRow, print } = createTable('effect protocol');
afterAll(print);

/** Every protocol that holds must reach each of these. */
const ROWS = ['applied', 'in_doubt', 'not_applied', 'prepared', 'started'];

describe('the protocol of an effect', () => {
  test.each(HOLDS)('$name', (row) => {
    const worlds = expectRow(row);
    expect([...new Set(worlds.map(({ row }) => row))].sort()).toEqual(ROWS);
  });

  const rows = MUTANTS.map(([protocol, verdict]) =>
    caught(
      `${protocol.target} target, ${protocol.doubt}${protocol.mutant === undefined ? '' : `, ${protocol.mutant}`}`,
      effectProtocol(protocol),
      verdict,
    ),
  );
  test.each(rows)('$name', (row) => {
    expectRow(row);
  });
});
