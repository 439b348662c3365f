import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

const append = {
  uses: 'cap.file.append',
  effectClass: 'keyed',
  work: false,
  preview: false,
  probe: false,
  compensate: false,
};

const REQUEST = ['effect', 'request', 'cap.file.append', '--target', 'log.txt', '--goal', 'Note the release'];
const answers = {
  'executor.capabilities': { items: [append] },
  'orchestrator.submit': { id: 't-1', phase: 'submitted' },
};

test('one effect is requested with its exact arguments', async () => {
  const line = [...REQUEST, '--arg', 'file=log.txt', '--arg', 'line=v1.4', '--id', 't-1'];
  const { code, out, calls } = await typeLine(line, answers);
  expect(out).toBe('task t-1 is submitted: approve cap.file.append on log.txt to carry it out\n');
  expect(code).toBe(0);
  const [, submitted] = calls.at(-1) ?? [];
  const { goal, definition } = SubmitTask.parse(submitted);
  expect(goal).toBe('Note the release');
  expect(definition?.nodes.find(({ effect }) => effect !== undefined)).toMatchObject({
    uses: 'cap.file.append',
    args: { file: 'log.txt', line: 'v1.4' },
    effect: { effectClass: 'keyed', target: 'log.txt' },
  });
});

test('each request without an id is a task of its own', async () => {
  const ids = await Promise.all(
    [1, 2].map(async () => {
      const { calls } = await typeLine(REQUEST, answers);
      return SubmitTask.parse(calls.at(-1)?.[1]).id;
    }),
  );
  expect(new Set(ids).size).toBe(2);
});

test('a capability without an executor is refused', async () => {
  const { code, err } = await typeLine(REQUEST, { ...answers, 'executor.capabilities': { items: [] } });
  expect(err).toContain('EXECUTOR_UNKNOWN_CAPABILITY: no executor supports cap.file.append');
  expect(code).toBe(1);
});

test('a refusal of the orchestrator is passed on', async () => {
  const refused = new HoldpointError('ORCHESTRATOR_TASK_CONFLICT', 'task t-1 exists with other content');
  const { code, err } = await typeLine([...REQUEST, '--id', 't-1'], {
    ...answers,
    'orchestrator.submit': refused,
  });
  expect(err).toContain('ORCHESTRATOR_TASK_CONFLICT');
  expect(code).toBe(1);
});
