import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Answers, typeLine } from '../../testing/terminal.ts';

const example = (name: string): Record<string, unknown> =>
  JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../contracts/examples/api', `${name}.json`), 'utf8'),
  ) as Record<string, unknown>;

const ACK = { id: 't-1', phase: 'executing', version: 7 };
const services: Answers = {
  'orchestrator.record_review': ACK,
  'orchestrator.submit': ACK,
  'orchestrator.get': example('orchestrator.get.response'),
  'orchestrator.history': { events: [] },
  'approvals.get': example('approvals.get.response'),
};
const type = (args: readonly string[]) => typeLine(args, services);

describe('task review', () => {
  const words = ['--kind', 'quality', '--verdict', 'changes_requested', '--summary', 'no test'];

  test('a review names the task, the node, the verdict and the address', async () => {
    const { calls, out } = await type([
      'task',
      'review',
      't-1/build',
      ...words,
      '--url',
      'https://a.example/1',
    ]);
    expect(calls).toEqual([
      [
        'orchestrator.record_review',
        {
          id: 't-1',
          node: 'build',
          kind: 'quality',
          verdict: 'changes_requested',
          summary: 'no test',
          url: 'https://a.example/1',
        },
      ],
    ]);
    expect(out).toBe('task t-1: quality review recorded\n');
  });

  test.each([
    [['--kind', 'style'], 'expected one of spec, quality'],
    [['--verdict', 'fine'], 'expected one of passed, changes_requested, failed'],
    [['--url', 'javascript:alert(1)'], 'an address with http:// or https://'],
  ])('a review with %j is refused before it is sent', async (bad, problem) => {
    const { calls, err } = await type(['task', 'review', 't-1', ...words, ...bad]);
    expect(calls).toEqual([]);
    expect(err).toContain(problem);
  });
});

test('a submission names its acceptance criteria', async () => {
  const submit = ['task', 'submit', '--workflow', 'sample', '--goal', 'greet'];
  const { calls } = await type([...submit, '--criterion', 'it is short', '--criterion', 'it is kind']);
  expect(calls[0]?.[1]).toMatchObject({ acceptanceCriteria: ['it is short', 'it is kind'] });
});

test('task show and approval show name criteria, reviews, artifact and the attempt that asks', async () => {
  const shown = (await type(['task', 'show', 't-1'])).out;
  for (const line of [
    'criteria      1. The file ends with the greeting',
    'on behalf of  t-4k2m9x1c7h0a/deploy, attempt 2',
    'spec review   passed by claude for grace: Does what the ticket asks for https://reviews.example/71',
    'artifact      git:draft/greeting@4f2a9c1 (plan_doc:greeting (draft/greeting))',
  ])
    expect(shown).toContain(line);
  const approval = (await type(['approval', 'show', 'a-1'])).out;
  for (const line of [
    'phase                awaiting_approval, attempt 1',
    'acceptance criteria  1. The file ends with the greeting',
    'quality review       none',
    'rollback hint        Remove the last line',
  ])
    expect(approval).toContain(line);
});
