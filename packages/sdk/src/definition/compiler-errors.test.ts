import { expect, test } from 'vitest';
import { z } from 'zod';
import { phasesFor } from './phases-for.ts';

const { agentPhase, terminal, terminalPhase } = phasesFor(z.object({ topic: z.string() }));

/** Only compiled, never run. */
const expectNotToCompile = (_body: () => unknown): void => undefined;

test('a phase without work does not compile', () =>
  expectNotToCompile(() => {
    // @ts-expect-error -- run and next are missing
    agentPhase({});
    // @ts-expect-error -- run is missing
    agentPhase({ next: 'done' });
  }));

test('a phase without next does not compile', () =>
  expectNotToCompile(() => {
    // @ts-expect-error -- next is missing
    agentPhase({ run: () => 1 });
  }));

test('a terminal phase with next does not compile', () =>
  expectNotToCompile(() => {
    // @ts-expect-error -- a terminal phase leads nowhere
    terminal({ next: 'done' });
  }));

test('terminal is short for terminalPhase', () => {
  const spec = { outcome: 'failed' } as const;
  expect(terminal(spec)).toEqual(terminalPhase(spec));
});
