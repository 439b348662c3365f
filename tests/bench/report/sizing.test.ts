import { describe, expect, test } from 'vitest';
import { readSource } from '../../repo/source-tree.ts';
import { busiestShare, cellOf, COST, sizeOf } from './sizing.ts';

const scaling = readSource('docs/scaling.md');

/** The cells of the table below a heading. */
const tableBelow = (heading: string): readonly (readonly string[])[] => {
  const section = scaling.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
};

const number = (value: number): string => value.toLocaleString('en-US');

test('the sizing table follows from the measured costs', () => {
  const rows = [10, 100, 1_000, 10_000].map((rate) => Object.values(sizeOf(rate)).map(number));
  expect(tableBelow('Sizes')).toEqual(rows);
});

test('the costs match docs/performance.md', () => {
  const performance = readSource('docs/performance.md');
  const { orchestrator, approvals, executor, recovery, nats, postgres } = COST.cpuMs;
  const row = [500, orchestrator, approvals, executor, recovery, nats, postgres].map(String).join(' | ');
  expect(performance).toContain(`| ${row} |`);
  expect(performance).toContain(` ${String(COST.postgresKib)} + `);
});

describe('the cells of several databases', () => {
  test('the cell follows from the key, and all cells are used', () => {
    const cells = Array.from({ length: 1_000 }, (_, at) => cellOf(`t-${String(at)}`, 12));
    expect(new Set(cells).size).toBe(12);
    expect(cellOf('t-1', 12)).toBe(cellOf('t-1', 12));
  });

  test('the shares of cells match the docs', () => {
    const rows = [
      ['10,000', 'equally', 10_000, 0],
      ['10,000', 'the n-th 1/√n of the first', 10_000, 0.5],
      ['10,000', 'the n-th 1/n of the first', 10_000, 1],
      ['100', 'equally', 100, 0],
    ] as const;
    expect(tableBelow('Several databases')).toEqual(
      rows.map(([keys, busy, count, skew]) => [keys, busy, String(busiestShare(24, count, skew))]),
    );
  });
});
