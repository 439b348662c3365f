import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { untilTrue } from '../kit/until.ts';
import { json } from './support/held.ts';
import { createRepository, type Repository } from './support/repository.ts';
import { enqueue, jobsOf, newRun, nodeOf, untilEnded, untilJob } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack.stop();
});

const FILE = '.holdpoint/workflows/flow.toml';

const submit = async (nodes: string): Promise<{ readonly repository: Repository; readonly run: string }> => {
  const repository = createRepository(stack);
  repository.write(FILE, `id = "template.flow"\nversion = "v1"\n${nodes}`);
  const run: string = newRun();
  await enqueue(repository, FILE, '--id', run);
  return { repository, run };
};

describe.concurrent('46. and 47. a job that waits for an approval', () => {
  const asking = async () => {
    const { repository, run } = await submit(ASKING);
    await untilJob(stack, run, 'ask', 'waiting_on_approval');
    return { repository, run, ask: `${run}/ask` };
  };

  test('46. an approved job runs', async () => {
    const { repository, run, ask } = await asking();
    expect(await json(repository, 'jobs', 'approve', ask)).toEqual({
      outcome: 'job_approved',
      job: ask,
      status: 'succeeded',
      approval_state: 'approved',
      started: [ask],
      updated: [ask],
    });
    expect((await untilEnded(stack, run)).outcome).toBe('succeeded');
    expect(repository.read('asked.txt')).toBe('asked\n');
    const again = await repository.holdpoint('jobs', 'approve', ask);
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toContain('CLI_NOTHING_TO_DECIDE');
  });

  test('47. a rejected job is blocked, and shows the approver, the reason and the request', async () => {
    const { repository, run, ask } = await asking();
    expect(await json(repository, 'jobs', 'reject', ask, '--reason', 'not now')).toEqual({
      outcome: 'job_rejected',
      job: ask,
      status: 'blocked_by_approval',
      approval_state: 'rejected',
      reason: 'not now',
    });
    const ended = await untilEnded(stack, run);
    expect(ended.outcome).toBe('blocked');
    expect(jobsOf(ended)).toEqual({ ask: 'blocked_by_approval', asked: 'blocked_by_dependency' });
    expect(await json(repository, 'jobs', 'show', ask)).toMatchObject({
      status: 'blocked_by_approval',
      waited_on: 'approval',
      approval_state: 'rejected',
      approval_decided_by: 'operator',
      approval_reason: 'not now',
      outcome: expect.stringContaining('not now') as unknown,
    });
    expect((await repository.holdpoint('jobs', 'attach', ask)).code).toBe(10);
    expect(repository.has('asked.txt')).toBe(false);
  });
});

describe.concurrent('48. to 50. the output of a job', () => {
  test("48. and 49. output is followed in order until the job ends, late lines included; the exit code is the job's", async () => {
    const { repository, run } = await submit(TALKING);
    const talk = `${run}/talk`;
    await untilJob(stack, run, 'talk', 'running');
    const early = '[stdout] out 1\n[stderr] err 1\n'.split('\n').toSorted();
    await untilTrue('the first lines are there', async () => {
      const { code, out } = await repository.holdpoint('jobs', 'tail', talk);
      expect(code).toBe(0);
      return JSON.stringify(out.split('\n').toSorted()) === JSON.stringify(early);
    });
    const following = [
      repository.holdpoint('jobs', 'tail', talk, '--follow', '--stream', 'stderr'),
      repository.holdpoint('jobs', 'attach', talk),
    ];
    repository.write('go', '');
    const [tailed, attached] = await Promise.all(following);
    expect(tailed).toEqual({ code: 1, out: 'err 1\nerr 2\n', err: '' });
    expect(attached).toMatchObject({ code: 1, err: '' });
    const lines = attached?.out.trimEnd().split('\n') ?? [];
    expect(lines.filter((line) => line.startsWith('[stdout]'))).toEqual(['[stdout] out 1', '[stdout] out 2']);
    expect(lines.filter((line) => line.startsWith('[stderr]'))).toEqual(['[stderr] err 1', '[stderr] err 2']);
    expect(lines).toHaveLength(4);

    // 50. A job that never ran has no output. That is no error, but the exit code still shows how the job
    // ended.
    expect(await repository.holdpoint('jobs', 'tail', `${run}/after`)).toEqual({
      code: 10,
      out: '',
      err: '',
    });
  });

  test('50. a job that has not started has no output, and that is no error', async () => {
    const { repository, run } = await submit(ASKING);
    await untilJob(stack, run, 'asked', 'waiting_on_deps');
    expect(await repository.holdpoint('jobs', 'tail', `${run}/asked`)).toEqual({ code: 0, out: '', err: '' });
  });
});

/** A zombie process counts as ended. */
const isAlive = (pid: string): boolean => {
  try {
    return !execFileSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' }).startsWith('Z');
  } catch {
    return false;
  }
};

describe.concurrent('64. and 65. cancelling and retrying a job', () => {
  test('64. the processes of a cancelled job end, its worktree stays, and a retry continues in it', async () => {
    const { repository, run } = await submit(WORKING);
    const work = `${run}/work`;
    const path = nodeOf(await untilJob(stack, run, 'work', 'running'), 'work').context?.worktree ?? '';
    expect(path).not.toBe('');
    await untilTrue('the child has begun', () => repository.has(`${path}/child.pid`));
    const child = repository.read(`${path}/child.pid`).trim();
    expect(isAlive(child)).toBe(true);

    const refused = await repository.holdpoint('jobs', 'cancel', work, '--cleanup-worktree');
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('CLI_WORKTREE_KEPT');
    const busy = await repository.holdpoint('jobs', 'retry', work);
    expect(busy.code).toBe(1);
    expect(busy.err).toContain('ORCHESTRATOR_ILLEGAL');

    expect(await repository.holdpoint('jobs', 'cancel', work, '--reason', 'too slow')).toEqual({
      code: 0,
      out: expect.stringContaining(`${work}: cancelled, worktree kept`) as string,
      err: '',
    });
    const cancelled = await untilEnded(stack, run);
    expect(jobsOf(cancelled)).toEqual({ wt: 'succeeded', work: 'cancelled', after: 'blocked_by_dependency' });
    await untilTrue('the child has ended', () => !isAlive(child));
    expect(repository.has(`${path}/child.pid`)).toBe(true);
    const again = await repository.holdpoint('jobs', 'cancel', work);
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toContain('CLI_NOT_ACTIVE');

    // Scenario 65.
    const before = await json<object>(repository, 'jobs', 'show', work);
    repository.write('go', '');
    expect(await json(repository, 'jobs', 'retry', work)).toEqual({
      outcome: 'job_retried',
      requested_job: work,
      retry_root: work,
      last_successful_point: [`${run}/wt`],
      retry_set: [work, `${run}/after`],
      reset: [work, `${run}/after`],
      restarted: expect.toSatisfy((jobs: readonly string[]) => jobs.every((job) => job === work)) as unknown,
      updated: [work, `${run}/after`],
    });
    const ended = await untilEnded(stack, run);
    expect(ended.outcome).toBe('succeeded');
    expect(nodeOf(ended, 'work')).toMatchObject({ attempt: 2, context: { worktree: path } });
    expect(nodeOf(ended, 'wt').attempt).toBe(1);
    const identity = [
      'job',
      'created',
      'workflow_run',
      'workflow_node',
      'workflow_definition_hash',
      'worktree',
    ];
    const after = await json<Readonly<Record<string, string>>>(repository, 'jobs', 'show', work);
    for (const field of identity) expect(before).toHaveProperty(field, after[field]);
    expect(after).toMatchObject({ workflow_node_attempt: '2', exit_code: '0' });
    expect(after).not.toHaveProperty('failed');
    // The output of the earlier attempt is kept.
    expect((await repository.holdpoint('jobs', 'tail', work)).out).toBe('[stdout] begun\n[stdout] begun\n');
  });

  test('65. a retry of a run restarts all failed jobs', async () => {
    const { repository, run } = await submit(MENDABLE);
    expect((await untilEnded(stack, run)).outcome).toBe('failed');
    repository.write('mended', '');
    expect(await json(repository, 'jobs', 'retry', '--run', run)).toMatchObject({
      outcome: 'run_retried',
      run,
    });
    const ended = await untilEnded(stack, run);
    expect(ended.outcome).toBe('succeeded');
    expect(nodeOf(ended, 'first').attempt).toBe(1);
    expect(nodeOf(ended, 'breaks').attempt).toBe(2);
    expect(repository.read('notes.txt')).toBe('first\nafter\n');
  });
});

test('66. gc shows the purgeable tasks, and removes nothing without --apply', async () => {
  const repository = createRepository(stack);
  const { code, out } = await repository.holdpoint('jobs', 'gc', '--json');
  expect(code).toBe(0);
  const shown = JSON.parse(out) as { readonly services: readonly object[] };
  expect(shown).not.toHaveProperty('retired');
  expect(shown.services).toContainEqual(expect.objectContaining({ service: 'orchestrator' }));
});

const ASKING = `
[[nodes]]
id = "ask"
kind = "gate"
uses = "control.gate.approval"
gates = [{ kind = "approval", required = true }]
on = { succeeded = ["asked"] }

[[nodes]]
id = "asked"
uses = "cap.env.shell.command.run"
args = { command = "echo asked > asked.txt" }
`;

const TALKING = `
[[nodes]]
id = "talk"
uses = "cap.env.shell.command.run"
args = { command = "echo out 1; echo err 1 >&2; until test -e go; do sleep 0.1; done; echo out 2; echo err 2 >&2; exit 3" }
on = { succeeded = ["after"] }

[[nodes]]
id = "after"
uses = "cap.env.shell.command.run"
args = { command = "true" }
`;

const WORKING = `
[[nodes]]
id = "wt"
uses = "cap.env.builtin.worktree.prepare"
args = { slug = "work", purpose = "test" }
on = { succeeded = ["work"] }

[[nodes]]
id = "work"
uses = "cap.env.shell.command.run"
args = { command = """
echo begun
root=$(git rev-parse --path-format=absolute --git-common-dir)/..
sh -c 'while :; do sleep 0.1; done' &
echo $! > child.pid
until test -e "$root/go"; do sleep 0.1; done
kill $!
""" }
on = { succeeded = ["after"] }

[[nodes]]
id = "after"
uses = "cap.env.shell.command.run"
args = { command = "true" }
`;

const MENDABLE = `
[[nodes]]
id = "first"
uses = "cap.env.shell.command.run"
args = { command = "echo first >> notes.txt" }
on = { succeeded = ["breaks"] }

[[nodes]]
id = "breaks"
uses = "cap.env.shell.command.run"
args = { command = "test -e mended" }
on = { succeeded = ["after"] }

[[nodes]]
id = "after"
uses = "cap.env.shell.command.run"
args = { command = "echo after >> notes.txt" }
`;
