import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TRANSITIONS } from '@holdpoint/orchestrator/task/evolve/phases';
import { TaskPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import { expect, test } from 'vitest';

const FILE = join(import.meta.dirname, '../../docs/architecture.md');

/** The transition table as a state diagram. */
const diagram = (): string => {
  const steps = TaskPhase.options.flatMap((from) => TRANSITIONS[from].map((to) => `  ${from} --> ${to}`));
  const ends = TaskPhase.options.filter(isEndPhase).map((phase) => `  ${phase} --> [*]`);
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> queued', ...steps, ...ends, '```'].join('\n');
};

test('the phases in the documentation are those of the transition table', async () => {
  const text = await readFile(FILE, 'utf8');
  const drawn = /<!-- phases:.*?-->\n(?<diagram>[\s\S]*?)\n<!-- \/phases -->/.exec(text)?.groups?.['diagram'];
  expect(drawn, `docs/architecture.md should hold:\n${diagram()}`).toBe(diagram());
});
