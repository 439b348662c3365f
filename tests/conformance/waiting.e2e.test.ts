import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whileApproving } from './support/approver.ts';
import { carriedOut } from './support/plans.ts';
import { createRepository, giveFlows, PLAN_OR_WORK, type Repository } from './support/repository.ts';
import { enqueue, follow, newRun, nodeOf, untilEnded, untilJob, untilRun, viewOf } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';
import { shell, template, untilThere } from './support/templates.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const THING = '{ custom = { type_id = "thing", key = "a" } }';
const CONTRACT = '\n[[artifact_contracts]]\nid = "thing"\nversion = "v1"\n';

const giving = (flows: Readonly<Record<string, string>>): Repository => {
  const repository = createRepository(stack);
  for (const [name, text] of Object.entries(flows))
    repository.write(`.holdpoint/workflows/${name}.toml`, text);
  return repository;
};

const file = (name: string): string => `.holdpoint/workflows/${name}.toml`;
const policy = (missing: string): string =>
  `\n[policy.dependencies]\nmissing_producer = "${missing}"\n${CONTRACT}`;

const two = template('two', [
  shell('hold', untilThere('go'), { on: '{ succeeded = ["last"] }' }),
  shell('last', 'true'),
]);
const one = template('one', [shell('only', 'true')]);

describe.concurrent('artifacts', () => {
  test('16. wait: a job awaits an artifact without a producer, and runs once it is available', async () => {
    const repository = giving({
      use: template('use', [shell('use', 'echo used > used.txt', { needs: `[${THING}]` })], policy('wait')),
      make: template('make', [shell('make', 'true', { produces: `{ succeeded = [${THING}] }` })], CONTRACT),
    });
    const { run_id: run } = await enqueue(repository, file('use'));
    const awaits = 'awaiting producer for custom:thing:a';
    await untilRun(stack, run, awaits, (view) => nodeOf(view, 'use').wait?.detail === awaits);
    expect(repository.has('used.txt')).toBe(false);
    await enqueue(repository, file('make'));
    expect((await untilEnded(stack, run)).outcome).toBe('succeeded');
    expect(repository.has('used.txt')).toBe(true);
  });

  test('17. block: an artifact without a producer blocks the job, which names the artifact', async () => {
    const repository = giving({
      use: template('use', [shell('use', 'echo used > used.txt', { needs: `[${THING}]` })], policy('block')),
    });
    const { code, ended, text } = await follow(repository, file('use'));
    expect(code, text).toBe(10);
    expect(ended.blocked).toEqual([`${ended.run_id}/use`]);
    const { out } = await repository.holdpoint('jobs', 'show', `${ended.run_id}/use`);
    expect(out).toContain('missing custom:thing:a');
    expect(repository.has('used.txt')).toBe(false);
  });
});

describe.concurrent('other runs and approvers', () => {
  test('25. --after a running job and --require-approval: the first job waits for both', async () => {
    const repository = giving({ two, one });
    const before = await enqueue(repository, file('two'));
    await untilJob(stack, before.run_id, 'hold', 'running');
    const later = await enqueue(repository, file('one'), '--after', `${before.run_id}/hold`);
    const waiting = await untilJob(stack, later.run_id, 'only', 'waiting_on_deps');
    expect(nodeOf(waiting, 'only').wait?.detail).toBe(`waiting on job ${before.run_id}/hold`);
    repository.write('go', '');
    expect((await untilEnded(stack, later.run_id)).outcome).toBe('succeeded');

    const enqueued = await enqueue(repository, file('one'), '--require-approval');
    await untilJob(stack, enqueued.run_id, 'only', 'waiting_on_approval');
    const approved = await repository.holdpoint(
      'jobs',
      'approve',
      `${enqueued.run_id}/only`,
      '--format',
      'json',
    );
    expect(approved, approved.err).toMatchObject({ code: 0 });
    expect(JSON.parse(approved.out)).toMatchObject({ outcome: 'job_approved', approval_state: 'approved' });
    expect((await untilEnded(stack, enqueued.run_id)).outcome).toBe('succeeded');
  });

  test('39. --after run:<id> means its last jobs, beside other jobs, each once; an unknown run is refused', async () => {
    const repository = giving({ two, one });
    const [a, b] = [
      (await enqueue(repository, file('two'))).run_id,
      (await enqueue(repository, file('one'))).run_id,
    ];
    const words = [`${b}/only`, `run:${a}`, `${a}/last`, `run:${b}`].flatMap((each) => ['--after', each]);
    const after = await enqueue(repository, file('one'), ...words);
    expect((await viewOf(stack, after.run_id)).after).toEqual([`${b}/only`, `${a}/last`]);
    repository.write('go', '');
    expect((await untilEnded(stack, after.run_id)).outcome).toBe('succeeded');

    const run = newRun();
    for (const [reference, said] of [
      ['run:t-nowhere', 'no task t-nowhere'],
      ['run_7', 'write run:run_7'],
      [`${a}/nothing`, 'has no node nothing'],
    ] as const) {
      const refused = await repository.holdpoint('run', file('one'), '--after', reference, '--id', run);
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain(said);
    }
    await expect(viewOf(stack, run)).rejects.toThrow('ORCHESTRATOR_UNKNOWN_TASK');
  });

  test('40. --repeat queues one run after the other, behind the given jobs; the first failure ends the later ones', async () => {
    const repository = giving({
      one,
      third: template('third', [shell('count', 'echo x >> count; test "$(wc -l < count)" -lt 2')]),
    });
    const single = await enqueue(repository, file('one'), '--repeat', '1');
    const words = ['--repeat', '2', '--after', single.run_id, '--require-approval', '--id', newRun()];
    const many = await repository.holdpoint('run', file('one'), ...words, '--format', 'json');
    const { runs } = JSON.parse(many.out) as { runs: readonly { run_id: string }[] };
    const [first = '', second = ''] = runs.map(({ run_id }) => run_id);
    expect(JSON.parse(many.out)).toMatchObject({ outcome: 'workflow_runs_enqueued', repeat: 2 });
    expect((await viewOf(stack, second)).after).toEqual([single.run_id, `${first}/only`]);
    await untilJob(stack, first, 'only', 'waiting_on_approval');
    await untilJob(stack, second, 'only', 'waiting_on_deps');
    expect(await repository.holdpoint('jobs', 'approve', '--run', first)).toMatchObject({ code: 0 });
    await untilJob(stack, second, 'only', 'waiting_on_approval');
    expect(await repository.holdpoint('jobs', 'approve', '--run', second)).toMatchObject({ code: 0 });
    expect((await untilEnded(stack, second)).outcome).toBe('succeeded');

    const failing = await repository.holdpoint(
      'run',
      file('third'),
      '--repeat',
      '3',
      '--follow',
      '--format',
      'json',
    );
    expect(failing.code).toBe(1);
    expect(JSON.parse(failing.out)).toMatchObject({
      outcome: 'workflow_runs_terminal',
      terminal_state: 'failed',
      exit_code: 1,
      runs: [
        { outcome: 'workflow_run_terminal', terminal_state: 'succeeded' },
        { outcome: 'workflow_run_terminal', terminal_state: 'failed' },
        { outcome: 'workflow_run_enqueued' },
      ],
    });
    expect(repository.read('count')).toBe('x\nx\n');
  });
});

describe.concurrent('locks', () => {
  const greeting = (name: string) => ({ [`${name}.txt`]: `${name}\n` });

  test('38. merges into one branch run one after the other, those into another do not wait, and only its merge holds up a develop', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    repository.git('branch', 'release');
    for (const slug of ['first', 'second', 'aside']) await carriedOut(repository, slug, greeting(slug));
    const go = `${stack.system.folder}/go-38`;
    const merge = (slug: string, target: string, script: string) =>
      enqueue(repository, 'merge', slug, '--target', target, '--set', `cicd_script=${script}`);
    const { run_id: first } = await merge('first', 'main', untilThere(go));
    const runs = [first];
    await whileApproving(repository, runs, async () => {
      await untilJob(stack, first, 'merge_gate_cicd', 'running');
      const { run_id: second } = await merge('second', 'main', 'true');
      const { run_id: aside } = await merge('aside', 'release', 'true');
      const words = ['--slug', 'whole', '--set', 'spec_text=Greet.', '--target', 'main'];
      const { run_id: develop } = await enqueue(repository, 'develop', ...words);
      runs.push(second, aside, develop);
      expect((await untilEnded(stack, aside)).outcome).toBe('succeeded');
      await untilJob(stack, second, 'merge_integrate', 'waiting_on_locks');
      await untilJob(stack, develop, 'approve__terminal', 'succeeded');
      await untilJob(stack, develop, 'merge__merge_integrate', 'waiting_on_locks');
      writeFileSync(go, '');
      for (const run of [first, second, develop]) {
        const ended = await untilEnded(stack, run);
        expect(ended.outcome, JSON.stringify(ended)).toBe('succeeded');
      }
    });
    const files = repository.git('ls-tree', '--name-only', 'main').split('\n');
    expect(files).toEqual(expect.arrayContaining(['first.txt', 'second.txt']));
    expect(repository.git('ls-tree', '--name-only', 'release')).toContain('aside.txt');
  });
});
