import {
  claim,
  end,
  failedWith,
  onError,
  programWith,
  record,
  submission,
  taskAfter,
  timer,
} from '@holdpoint/programs/testing/fixture';
import { expect, test } from 'vitest';
import { programView } from './program-view.ts';

test('the view of a program shows the state that its present attempt started from', () => {
  const retried = [
    submission(programWith({ onError: onError('retry', 2) })),
    claim(1),
    end(1, failedWith()),
    timer('retry'),
    claim(2),
    record(2, { kind: 'retry_state', state: { topic: 'soup' } }),
  ];
  expect(programView(taskAfter(submission(), claim(1))).state).toEqual({ topic: 'tea' });
  expect(programView(taskAfter(...retried)).state).toEqual({ topic: 'soup' });
  expect(programView(taskAfter(...retried, end(2, failedWith()))).state).toEqual({ topic: 'soup' });
});
