import { specFor } from '@holdpoint/runtime/testing/spec';
import { expect, test } from 'vitest';
import { effect, node } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { NOW, submission, submit } from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);

test.each([
  ['../../etc/passwd', 'args.file: expected a relative path inside HOLDPOINT_WORKSPACE of the executor'],
  ['/etc/passwd', 'args.file: expected a relative path inside HOLDPOINT_WORKSPACE of the executor'],
  ['a.lock', 'args.file: expected not the lock of another file'],
])('an argument that becomes %s is refused before people are asked', (file, message) => {
  const task = play(
    [effect('a', { args: { file: '{{ inputs.file }}', line: 'x' } }), node('after', { after: ['a'] })],
    {
      inputs: { file },
    },
  );
  expect(task.sent('approval.request')).toEqual([]);
  expect(task.node('a')).toMatchObject({
    status: 'failed',
    error: { code: 'EXECUTOR_INVALID_ARGUMENTS', message },
  });
  expect(task.task.phase).toBe('failed');
});

test('an argument that is wrong from the start is refused with the submission', () => {
  expect(() => play([effect('a', { args: { file: '../x', line: 'x' } })])).toThrow(
    'ORCHESTRATOR_WORKFLOW_INVALID',
  );
});

test.each(['../x', '/etc/passwd'])(
  'a wrong argument %s of a built-in workflow is refused with the submission',
  (file) => {
    given()
      .when(submit({ ...submission, inputs: { file } }), NOW)
      .thenAnswersError('ORCHESTRATOR_WORKFLOW_INVALID')
      .thenEmits();
  },
);

test('a correct argument is put to people', () => {
  const task = play([effect('a', { args: { file: '{{ inputs.file }}', line: 'x' } })], {
    inputs: { file: 'a.txt' },
  });
  expect(task.sent('approval.request')).toHaveLength(1);
});
