import { afterAll, beforeAll, expect, test } from 'vitest';
import { whileApproving } from '../../conformance/support/approver.ts';
import { createRepository } from '../../conformance/support/repository.ts';
import { follow, newRun } from '../../conformance/support/runs.ts';
import { startStack, type Stack } from '../../conformance/support/stack.ts';
import { documentedTemplate } from '../../reference/documented-template.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

test('the complete template of the workflow guide runs as it stands', async () => {
  const repository = createRepository(stack);
  const { name, text } = documentedTemplate();
  repository.write(name, text);
  const run = newRun();
  const {
    code,
    ended,
    text: output,
  } = await whileApproving(repository, [run], () => follow(repository, name, 'live', '--id', run));
  expect(code, output).toBe(0);
  expect(ended.terminal_state).toBe('succeeded');
  expect(repository.read('deployed-live.txt')).not.toBe('');
});
