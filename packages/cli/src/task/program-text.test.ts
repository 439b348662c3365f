import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ProgramEvent } from '@holdpoint/contracts/program/events';
import { expect, test } from 'vitest';
import { programText } from './program-text.ts';

const EXAMPLES = join(import.meta.dirname, '../../../contracts/examples');
const examples = ['event', 'internal-event'].flatMap((folder) =>
  readdirSync(join(EXAMPLES, folder)).flatMap((file) => {
    const { data } = ProgramEvent.safeParse(JSON.parse(readFileSync(join(EXAMPLES, folder, file), 'utf8')));
    return data === undefined ? [] : [[file, data] as const];
  }),
);

test('every event of a TypeScript workflow has an example', () => {
  expect(new Set(examples.map(([, { type }]) => type)).size).toBe(ProgramEvent.options.length);
});

test.each(examples)('%s is shown on one line with its phase', (_file, event) => {
  const text = programText(event);
  expect(text).not.toContain('\n');
  expect(text).toContain(event.type === 'program_submitted' ? event.program.id : event.node);
});
