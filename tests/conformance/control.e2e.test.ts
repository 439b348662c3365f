import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../kit/until.ts';
import type { ServiceProcess } from '../kit/stack/as-process.ts';
import { commitTo } from './support/plans.ts';
import { createRepository, giveFlows, type Repository } from './support/repository.ts';
import { enqueue, follow, jobsOf, nodeOf, untilEnded, untilJob, viewOf } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';
import { job, shell, template, untilThere } from './support/templates.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const FLOW = '.holdpoint/workflows/flow.toml';

const flowing = (text: string): Repository => {
  const repository = createRepository(stack);
  repository.write(FLOW, text);
  return repository;
};

describe.concurrent('gates', () => {
  test('20. a stop condition that fails once repeats the commit and the gate, and then holds', async () => {
    const repository = flowing(
      template('stop', [
        job({
          id: 'commit',
          kind: '"builtin"',
          uses: '"cap.env.builtin.git.stage_commit"',
          args: '{ message = "work" }',
          on: '{ succeeded = ["gate"] }',
        }),
        job({
          id: 'gate',
          kind: '"gate"',
          uses: '"control.gate.stop_condition"',
          gates: `[{ kind = "script", script = "test -e met || { touch met; echo not yet; exit 1; }", policy = "retry" }]`,
          retry: '{ mode = "until_gate", budget = 3 }',
          on: '{ failed = ["commit"] }',
        }),
      ]),
    );
    const { code, ended, text } = await follow(repository, FLOW);
    expect(code, text).toBe(0);
    const view = await viewOf(stack, ended.run_id);
    expect(nodeOf(view, 'commit')).toMatchObject({ job: 'succeeded', attempt: 2 });
    expect(nodeOf(view, 'gate')).toMatchObject({ job: 'succeeded', attempt: 2 });
    expect(repository.git('show', 'HEAD:met')).toBe('');
  });

  test('20. in a worktree the loop returns to the agent with the output of the script; the existing work stays', async () => {
    const repository = createRepository(stack);
    const agent = giveFlows(repository, 'echo one more >> greeting.txt; echo done');
    commitTo(repository, 'draft/greet', { '.holdpoint/plans/greet.md': '# Greet\n' }, 'plan');
    const script = 'test "$(wc -l < greeting.txt)" -ge 2 || { echo too few greetings; exit 1; }';
    const { code, ended, text } = await follow(
      repository,
      'approve',
      'greet',
      '--set',
      `stop_condition_script=${script}`,
    );
    expect(code, text).toBe(0);
    const view = await viewOf(stack, ended.run_id);
    for (const node of ['invoke_agent', 'stage_commit', 'stop_gate'])
      expect(nodeOf(view, node)).toMatchObject({ job: 'succeeded', attempt: 2 });
    expect(nodeOf(view, 'worktree_prepare')).toMatchObject({ attempt: 1 });
    expect(agent.prompts()).toHaveLength(2);
    expect(agent.prompts()[1]).toContain('too few greetings');
    expect(repository.git('show', 'draft/greet:greeting.txt')).toBe('one more\none more');
    expect(repository.git('status', '--porcelain')).toBe('');
  });

  test('21. a gated root is read and approved, an ended job is attached to, a waiting one is cancelled with its gate, a red CI gate is retried', async () => {
    const repository = flowing(
      template('gated', [
        shell('say', 'echo said', {
          gates: '[{ kind = "approval", required = true }]',
          on: '{ succeeded = ["check"] }',
        }),
        job({
          id: 'check',
          kind: '"gate"',
          uses: '"control.gate.cicd"',
          gates: '[{ kind = "cicd", script = "test -e green" }]',
        }),
      ]),
    );
    const { run_id: run } = await enqueue(repository, FLOW);
    await untilJob(stack, run, 'say', 'waiting_on_approval');
    expect(await repository.holdpoint('jobs', 'tail', `${run}/say`)).toEqual({ code: 0, out: '', err: '' });
    expect(await repository.holdpoint('jobs', 'approve', `${run}/say`)).toMatchObject({ code: 0 });
    await untilEnded(stack, run);
    const attached = await repository.holdpoint('jobs', 'attach', `${run}/say`);
    expect(attached).toMatchObject({ code: 0, out: '[stdout] said\n' });
    expect(nodeOf(await viewOf(stack, run), 'check')).toMatchObject({ job: 'failed', attempt: 1 });

    repository.write('green', '');
    const retried = await repository.holdpoint('jobs', 'retry', `${run}/check`, '--format', 'json');
    expect(retried, retried.err).toMatchObject({ code: 0 });
    expect(JSON.parse(retried.out)).toMatchObject({ outcome: 'job_retried', retry_set: [`${run}/check`] });
    const again = await untilJob(stack, run, 'check', 'succeeded');
    expect(nodeOf(again, 'check').attempt).toBe(2);
    expect(nodeOf(again, 'say').attempt).toBe(1);

    const { run_id: other } = await enqueue(repository, FLOW);
    await untilJob(stack, other, 'say', 'waiting_on_approval');
    expect(await repository.holdpoint('jobs', 'cancel', `${other}/say`)).toMatchObject({ code: 0 });
    const cancelled = await untilEnded(stack, other);
    expect(jobsOf(cancelled)).toEqual({ say: 'cancelled', check: 'blocked_by_dependency' });
    const { approval = '' } = nodeOf(cancelled, 'say');
    await until('the request is taken back', async () =>
      (await repository.holdpoint('approval', 'show', approval)).out.includes('cancelled') ? true : undefined,
    );
  });

  test('26. --follow ends with 0, with 10 at an approval gate without an audience, and with 1 for a failed script', async () => {
    const ends = async (text: string): Promise<number> => (await follow(flowing(text), FLOW)).code;
    const gate = { id: 'gate', kind: '"gate"', uses: '"control.gate.approval"' };
    expect(await ends(template('well', [shell('fine', 'true')]))).toBe(0);
    expect(await ends(template('asks', [job(gate)]))).toBe(10);
    expect(await ends(template('ill', [shell('bad', 'exit 3')]))).toBe(1);
  });

  test('27. nodes after a worktree work in it', async () => {
    const repository = flowing(
      template('where', [
        job({
          id: 'tree',
          kind: '"builtin"',
          uses: '"cap.env.builtin.worktree.prepare"',
          args: '{ branch = "side", purpose = "look" }',
          on: '{ succeeded = ["look"] }',
        }),
        shell('look', 'pwd; git branch --show-current'),
      ]),
    );
    const { code, ended, text } = await follow(repository, FLOW);
    expect(code, text).toBe(0);
    const { worktree = '' } = nodeOf(await viewOf(stack, ended.run_id), 'look').context ?? {};
    expect(worktree).toMatch(/^\.holdpoint\/worktrees\/look-/);
    const { out } = await repository.holdpoint('jobs', 'tail', `${ended.run_id}/look`, '--stream', 'stdout');
    expect(out).toBe(`${join(repository.root, worktree)}\nside\n`);
  });
});

/** The other tests of the file have ended: this test kills the executor. */
describe('killed processes', () => {
  const killed = async (executor: ServiceProcess): Promise<void> => {
    const before = executor.exits().length;
    executor.signal('SIGKILL');
    await until('the executor has been killed', () => (executor.exits().length > before ? true : undefined));
  };

  test('41. a process killed under --follow fails its job; a killed executor only delays it', async () => {
    const repository = flowing(template('killed', [shell('dies', 'kill -9 $$')]));
    const { code, ended } = await follow(repository, FLOW);
    expect(code).toBe(1);
    expect(ended.failed).toEqual([`${ended.run_id}/dies`]);

    const go = join(repository.root, 'go');
    repository.write(
      FLOW,
      template('held', [shell('hold', `echo began >> began; ${untilThere(go)}; echo over`)]),
    );
    const following = follow(repository, FLOW, '--id', 't-41');
    await until('it runs', () => (existsSync(join(repository.root, 'began')) ? true : undefined));
    await killed(stack.executor);
    await until('it runs again', () => (repository.read('began').split('\n').length > 2 ? true : undefined));
    repository.write('go', '');
    const { code: end, text } = await following;
    expect(end, text).toBe(0);
  });

  test('42. tail --follow and attach end with a job whose executor was killed, and not before', async () => {
    const go = join(stack.system.folder, 'go-42');
    const repository = flowing(
      template('held', [shell('hold', `echo began; echo x >> began; ${untilThere(go)}; echo over`)]),
    );
    const { run_id: run } = await enqueue(repository, FLOW);
    await until('it runs', () => (existsSync(join(repository.root, 'began')) ? true : undefined));
    const tailing = repository.holdpoint('jobs', 'tail', '--follow', '--stream', 'stdout', `${run}/hold`);
    const attached = repository.holdpoint('jobs', 'attach', `${run}/hold`);
    await killed(stack.executor);
    await until('it runs again', () =>
      readFileSync(join(repository.root, 'began'), 'utf8') === 'x\nx\n' ? true : undefined,
    );
    expect((await viewOf(stack, run)).phase).toBe('executing');
    writeFileSync(go, '');
    expect((await untilEnded(stack, run)).outcome).toBe('succeeded');
    for (const { code, out } of [await tailing, await attached]) {
      expect(code).toBe(0);
      expect(out).toMatch(/began\n[^]*over\n$/);
    }
  });
});
