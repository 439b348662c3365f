import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { expect, test } from 'vitest';
import { programText } from './program-text.ts';

const EXAMPLES = join(import.meta.dirname, '../../../contracts/examples/fact');
const examples = readdirSync(EXAMPLES).flatMap((file) => {
  const { data } = ProgramEvent.safeParse(JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')));
  return data === undefined ? [] : [[file, data] as const];
});

test('there is an example of every fact of a program', () => {
  expect(new Set(examples.map(([, { type }]) => type)).size).toBe(ProgramEvent.options.length);
});

test.each(examples)('%s is told in one line that names its phase', (_file, event) => {
  const text = programText(event);
  expect(text).not.toContain('\n');
  expect(text).toContain(event.type === 'program_submitted' ? event.program.id : event.node);
});
