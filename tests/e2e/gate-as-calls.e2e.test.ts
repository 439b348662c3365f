import { CALLS } from '@holdpoint/workflows/testing/gate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRepository } from '../conformance/support/repository.ts';
import { enqueue, nodeOf, untilEnded, untilJob, viewOf } from '../conformance/support/runs.ts';
import { startStack, type Stack } from '../conformance/support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const FLOW = `
id = "team.release"
version = "v1"

[[nodes]]
id = "check"
uses = "cap.env.shell.command.run"
args = { command = "echo 12 tests passed" }
review = "quality"

[[nodes]]
id = "deploy"
uses = "cap.env.shell.command.run"
args = { command = "echo live > live.txt" }
after = [{ node_id = "check" }]

[nodes.effect]
side_effect_kind = "write_external"
idempotency_key = "deploy:1"
target = "live"
gate = "release"
`;

test('a gate as calls of tools holds an effect, shows the work behind it, and resumes it once', async () => {
  const repository = createRepository(stack);
  const { holdpoint } = repository;
  repository.write('.holdpoint/gates/release.yaml', CALLS.replace('release-owners', 'operators'));
  repository.write('flow.toml', FLOW);
  const checked = await holdpoint('workflow', 'validate', '.holdpoint/gates/release.yaml');
  expect(checked, checked.err).toMatchObject({ code: 0 });
  const { run_id: run } = await enqueue(repository, 'flow.toml', '--criterion', 'it is signed');
  const waiting = await untilJob(stack, run, 'deploy', 'waiting_on_approval');
  const approval = nodeOf(waiting, 'deploy').approval ?? '';
  expect(waiting).toMatchObject({
    acceptanceCriteria: ['it is signed'],
    reviews: { quality: { verdict: 'passed', by: 'node check' } },
    latestApproval: { status: 'pending' },
  });

  const review = ['--kind', 'spec', '--verdict', 'passed', '--summary', 'as agreed'];
  expect(await holdpoint('task', 'review', run, ...review)).toMatchObject({ code: 0, err: '' });
  await expect
    .poll(async () => (await holdpoint('approval', 'show', approval)).out, { timeout: 60_000 })
    .toContain('deploy:1');
  const { out } = await holdpoint('approval', 'show', approval);
  for (const line of [
    '- it is signed',
    'acceptance criteria  1. it is signed',
    'quality review       passed by node check',
  ])
    expect(out).toContain(line);

  expect(await holdpoint('approval', 'approve', approval, '--comment', 'go')).toMatchObject({
    code: 0,
    err: '',
  });
  expect(await untilEnded(stack, run)).toMatchObject({ phase: 'completed' });
  expect(repository.read('live.txt')).toBe('live\n');
  const ended = await viewOf(stack, run);
  expect(ended).toMatchObject({
    latestApproval: { status: 'approved', note: 'go' },
    reviews: { spec: { verdict: 'passed', summary: 'as agreed' } },
  });
  expect(ended.checkpoints).toMatchObject([
    { kind: 'noted', name: 'opened', payload: { key: 'deploy:1' } },
    {
      kind: 'resume_granted',
      reason: expect.stringContaining('go') as unknown,
      payload: { key: 'deploy:1' },
    },
  ]);
  expect((await holdpoint('task', 'show', run)).out).toContain('spec review');
});
