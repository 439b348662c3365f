import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nodeView, runView } from '../../testing/runs.ts';
import { type Answers, typeLine } from '../../testing/terminal.ts';

const DEMO = `
id = "template.demo"
version = "v1"
[cli]
positional = ["topic"]
named = { about = "topic" }
[params]
topic = ""
note = "none"
[[nodes]]
id = "say"
uses = "cap.env.shell.command.run"
args = { command = "echo \${topic} \${note}" }
on = { succeeded = ["end"] }
[[nodes]]
id = "end"
kind = "gate"
uses = "control.terminal"
`;

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdpoint-run-')));
  execFileSync('git', ['init', '--quiet', root]);
  mkdirSync(join(root, '.holdpoint/workflows'), { recursive: true });
  writeFileSync(join(root, '.holdpoint/config.toml'), '[commands]\ndemo = "template.demo@v1"\n');
  writeFileSync(join(root, '.holdpoint/workflows/demo.toml'), DEMO);
});
afterEach(() => rmSync(root, { recursive: true }));

const known = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'no such task');

/** Submitted runs are numbered and succeed immediately. */
const services = (others: Readonly<Record<string, ReturnType<typeof runView>>> = {}): Answers => {
  let submitted = 0;
  return {
    'orchestrator.submit': ({ id }: { id?: string }) => {
      submitted += 1;
      return { id: id ?? `t-${String(submitted)}`, phase: 'executing', version: 1 };
    },
    'orchestrator.get': ({ id }: { id: string }) => {
      if (others[id] !== undefined) return others[id];
      if (!id.startsWith('t-')) return known;
      const nodes = [
        nodeView('say', 'succeeded'),
        nodeView('end', 'succeeded', { uses: 'control.terminal' }),
      ];
      return runView(id, nodes, { phase: 'completed', outcome: 'succeeded' });
    },
  };
};

const run = (line: string, answers: Answers = services(), directory = root) =>
  typeLine(line.split(' '), answers, { directory });
const submitted = ({ calls }: Awaited<ReturnType<typeof run>>) =>
  calls.filter(([name]) => name === 'orchestrator.submit').map(([, payload]) => SubmitTask.parse(payload));

describe('a run is submitted', () => {
  test('a run is submitted with definition, repository and inputs', async () => {
    const done = await run('run demo cats --note x');
    expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: '' });
    const [task] = submitted(done);
    expect(task).toMatchObject({
      workflow: 'demo',
      repository: root,
      goal: 'demo topic=cats note=x',
      inputs: { topic: 'cats', note: 'x' },
      definition: { id: 'template.demo', version: 'v1', nodes: [{ args: { command: 'echo cats x' } }, {}] },
    });
  });

  test.each([
    ['run demo --about cats', { topic: 'cats' }],
    ['run demo --topic=cats', { topic: 'cats' }],
    ['run demo --set topic=cats --set topic=dogs', { topic: 'dogs' }],
    ['run template.demo@v1 cats', { topic: 'cats' }],
    ['run .holdpoint/workflows/demo.toml cats', { topic: 'cats' }],
    ['run file:.holdpoint/workflows/demo.toml -- --cats', { topic: '--cats' }],
    ['run demo --note', { note: 'true' }],
  ])('`%s` reports its problem', async (line, inputs) => {
    const done = await run(line);
    expect(done.err).toBe('');
    expect(submitted(done)[0]?.inputs).toMatchObject(inputs);
  });

  test.each([
    ['run .holdpoint/workflows/demo.toml cats', 'demo topic=cats'],
    [`run demo ${'c'.repeat(100)}`, `demo topic=${'c'.repeat(59)}…`],
    ['run demo cats --goal mine', 'mine'],
  ])('`%s` has the goal %j, which people read as a title', async (line, goal) => {
    expect(submitted(await run(line))[0]?.goal).toBe(goal);
  });

  test("the repository's recovery rules are submitted, unless they are invalid", async () => {
    expect(submitted(await run('run demo x'))[0]?.definition).not.toHaveProperty('recovery');
    const file = join(root, '.holdpoint/recovery.toml');
    writeFileSync(file, '[[rules]]\nid = "busy"\nclass = "TRANSIENT"\npattern = "busy"\n');
    const rules = [{ id: 'busy', class: 'TRANSIENT', pattern: 'busy' }];
    expect(
      submitted(await run('run demo x --repeat 2')).map(({ definition }) => definition?.recovery),
    ).toEqual([{ rules }, { rules }]);
    writeFileSync(file, '[[rules]]\nid = "busy"\nclass = "TRANSIENT"\npattern = "(busy"\n');
    const refused = await run('run demo x');
    expect(refused).toMatchObject({ code: 1, calls: [] });
    expect(refused.err).toContain(
      '.holdpoint/recovery.toml rules[0].pattern: error WORKFLOW_RECOVERY_PATTERN',
    );
  });

  test('a run works from a subdirectory, and for another repository', async () => {
    mkdirSync(join(root, 'a/b'), { recursive: true });
    expect(submitted(await run('run demo x', services(), join(root, 'a/b')))[0]?.repository).toBe(root);
    expect(submitted(await run(`run demo x -C ${root}`, services(), '/'))[0]?.repository).toBe(root);
  });

  test.each([
    ['run demo x --require-approval', { approval: 'required' }],
    ['run demo x --no-require-approval', { approval: 'none' }],
    ['run demo x --id t-mine --goal g', { id: 't-mine', goal: 'g' }],
  ])('`%s` reports its problem', async (line, fields) =>
    expect(submitted(await run(line))[0]).toMatchObject(fields),
  );

  test('--format json prints stable keys', async () => {
    const { out } = await run('run demo x --format json');
    expect(JSON.parse(out)).toEqual({
      outcome: 'workflow_run_enqueued',
      run_id: 't-1',
      workflow_template_selector: 'template.demo@v1',
      workflow_template_id: 'template.demo',
      workflow_template_version: 'v1',
      root_job_ids: ['t-1/say'],
      next: {
        schedule: 'holdpoint task schedule --job t-1/say',
        show: 'holdpoint task show t-1/say',
        tail: 'holdpoint task tail --follow t-1/say',
      },
    });
  });
});

describe('an invalid run submits nothing', () => {
  test.each([
    ['run demo --topc cats', 'named.topc', '"topic"'],
    ['run demo a b', 'positional[1]', 'at most 1'],
    ['run demo a --topic b', 'positional[0]', 'once'],
    ['run demmo', 'demmo', '"demo"'],
    ['run gone.toml', 'gone.toml', 'an existing file'],
    ['run ../../etc/passwd.toml', 'passwd', 'repository'],
  ])('`%s` reports its problem', async (line, found, expected) => {
    const { code, err, calls } = await run(line);
    expect({ code, calls }).toEqual({ code: 1, calls: [] });
    expect(err).toContain(found);
    expect(err).toContain(expected);
  });

  test('--format json prints every problem', async () => {
    const { code, out } = await run('run demo a --topc cats --nte x --format json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      outcome: 'workflow_validation_failed',
      problems: [
        { code: 'WORKFLOW_PARAM_UNKNOWN', path: 'named.topc', nearest: 'topic' },
        { code: 'WORKFLOW_PARAM_UNKNOWN', path: 'named.nte', nearest: 'note' },
      ],
    });
  });

  test('a run outside of a repository is refused', async () => {
    const { code, err } = await run('run demo', services(), '/');
    expect(code).toBe(1);
    expect(err).toContain('error WORKFLOW_NO_REPOSITORY');
  });

  test.each([
    'run',
    'run demo -x',
    'run demo --set topic',
    'run demo --repeat 0',
    'run demo --require-approval --no-require-approval',
    'run demo --check --after t-1',
    'run demo --check --follow',
    'run demo --check --require-approval',
    'run demo --check --no-require-approval',
    'run demo --check --repeat 2',
    'run demo --spec-dir d --repeat 2',
  ])('`%s` is a usage error', async (line) => {
    const { code, calls, err } = await run(line);
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
    expect(err).toMatch(/^error USAGE: /);
  });
});

describe('run --check', () => {
  test('--check prints the number of nodes, calls no service and writes nothing', async () => {
    const before = readdirSync(root, { recursive: true });
    const { code, out, calls } = await run('run demo x --check --format json');
    expect({ code, calls }).toEqual({ code: 0, calls: [] });
    expect(JSON.parse(out)).toMatchObject({ outcome: 'workflow_validation_passed', node_count: 2 });
    expect(readdirSync(root, { recursive: true })).toEqual(before);
    expect((await run('run demo x --check')).out).toContain('Nodes     2');
  });
});

describe('run --after', () => {
  const other = runView(
    't-0',
    [nodeView('a', 'running'), nodeView('b', 'queued'), nodeView('c', 'queued')],
    {},
  );
  const two = { ...other, sinks: [...other.sinks, ...other.entries] };

  test('--after takes jobs, tasks, and the last jobs of a task, each once and in order', async () => {
    const done = await run(
      'run demo x --after t-0/b --after run:t-0 --after t-0 --after t-0/c',
      services({ 't-0': two }),
    );
    expect(submitted(done)[0]?.after).toEqual(['t-0/b', 't-0/c', 't-0/a', 't-0']);
  });

  test.each([
    ['gone', 'ORCHESTRATOR_UNKNOWN_TASK: --after gone: no task gone'],
    ['run_7', 'write run:run_7'],
    ['t-0/none', 'ORCHESTRATOR_UNKNOWN_NODE: --after t-0/none: task t-0 has no node none'],
    ['run:t-0/b', 'CLI_AFTER'],
    ['a.b', 'CLI_AFTER'],
    ['run:t-9', 'last jobs'],
  ])('--after %s is refused before anything is submitted', async (reference, said) => {
    const loop = { ...runView('t-9', [nodeView('a', 'running')]), sinks: [] };
    const done = await run(`run demo x --after ${reference}`, services({ 't-0': two, 't-9': loop }));
    expect(done.code).toBe(1);
    expect(done.err).toContain(said);
    expect(submitted(done)).toEqual([]);
  });
});

describe('several runs', () => {
  test('--repeat starts each run after the last jobs of the previous one', async () => {
    const done = await run('run demo x --repeat 3 --id t-r --after t-0 --format json', {
      ...services({ 't-0': runView('t-0', [nodeView('a', 'running')]) }),
    });
    const tasks = submitted(done);
    expect(tasks.map(({ id }) => id)).toEqual(['t-r-1', 't-r-2', 't-r-3']);
    expect(tasks.map(({ after }) => after)).toEqual([['t-0'], ['t-0', 't-r-1/end'], ['t-0', 't-r-2/end']]);
    expect(JSON.parse(done.out)).toMatchObject({
      outcome: 'workflow_runs_enqueued',
      repeat: 3,
      runs: [{ run_id: 't-r-1' }, { run_id: 't-r-2' }, { run_id: 't-r-3' }],
    });
  });

  test('--repeat 1 is a single run', async () => {
    expect(JSON.parse((await run('run demo x --repeat 1 --format json')).out)).toMatchObject({
      outcome: 'workflow_run_enqueued',
    });
  });

  const specs = () => {
    writeFileSync(
      join(root, '.holdpoint/workflows/demo.toml'),
      DEMO.replace('note = "none"', 'note = ""\nspec_file = ""\nslug = ""\nbranch = ""').replace(
        '${note}',
        '${note} ${spec_file} ${slug} ${branch}',
      ),
    );
    mkdirSync(join(root, 'specs/b'), { recursive: true });
    for (const name of ['z.md', 'b/Two Words.md', 'ignored.txt'])
      writeFileSync(join(root, 'specs', name), '# a specification\n');
  };

  test('--spec-dir submits one run per specification, in order', async () => {
    specs();
    const done = await run('run demo x --spec-dir specs');
    expect(done.err).toBe('');
    expect(
      submitted(done).map(({ inputs, after }) => [
        inputs?.['spec_file'],
        inputs?.['slug'],
        inputs?.['branch'],
        after,
      ]),
    ).toEqual([
      ['specs/b/Two Words.md', 'b-two-words', 'draft/b-two-words', undefined],
      ['specs/z.md', 'z', 'draft/z', ['t-1/end']],
    ]);
    const checked = JSON.parse(
      (await run('run demo x --spec-dir specs --check --format json')).out,
    ) as unknown;
    expect(checked).toMatchObject({
      outcome: 'workflow_validation_passed',
      spec_count: 2,
      items: [{ item: 'specs/b/Two Words.md' }, { item: 'specs/z.md' }],
    });
  });

  test.each([
    ['run demo x --spec-dir specs --slug s', 'slug'],
    ['run demo x --spec-dir specs --set branch=b', 'branch'],
    ['run demo x --spec-dir gone', 'gone'],
  ])('%s is refused as a whole', async (line, said) => {
    specs();
    const done = await run(line);
    expect({ code: done.code, calls: done.calls }).toEqual({ code: 1, calls: [] });
    expect(done.err).toContain(said);
  });

  test('--spec-dir needs a workflow with a specification', async () => {
    mkdirSync(join(root, 'specs'));
    writeFileSync(join(root, 'specs/a.md'), 'a');
    expect((await run('run demo x --spec-dir specs')).err).toContain('spec_file');
  });
});

describe('run --follow', () => {
  const endingIn = (
    more: Partial<ReturnType<typeof runView>>,
    job: 'succeeded' | 'failed' = 'succeeded',
  ) => ({
    ...services(),
    'orchestrator.history': { events: [] },
    'orchestrator.get': ({ id }: { id: string }) =>
      runView(id, [nodeView('say', job, { uses: 'control.prepare' })], more),
  });

  test('a run that is left to a person ends with exit code 10 and the command that continues it', async () => {
    const verdict = {
      kind: 'escalate',
      delayMs: 0,
      class: 'UNKNOWN',
      rule: 'verdicts@2/paused',
      reason: 'odd',
    };
    const stuck = nodeView('say', 'escalated', { verdict, question: 'a-1' });
    const answers = {
      ...endingIn({}),
      'orchestrator.get': ({ id }: { id: string }) => runView(id, [stuck], { phase: 'paused' }),
      'approvals.get': { id: 'a-1', status: 'pending', stuck: { class: 'UNKNOWN', reason: 'odd' } },
      'recovery.report': { report: '# t-1/say is stuck', stuck: true },
    };
    const text = await run('run demo x --follow', answers);
    expect(text.code).toBe(10);
    expect(text.out).toContain('holdpoint recovery resolve t-1/say retry|skip|done|cancel\n');
    expect(text.out).toMatch(/^Blocked +t-1\/say$/m);
    const json = await run('run demo x --follow --format json', answers);
    expect(json.code).toBe(10);
    expect(json.err).toMatch(/^t-\d\/say is stuck: .*holdpoint recovery resolve t-\d\/say /);
    expect(JSON.parse(json.out)).toMatchObject({ terminal_state: 'blocked', exit_code: 10 });
  });

  test.each([
    ['completed', 'succeeded', 0, 'succeeded'],
    ['failed', 'failed', 1, 'failed'],
    ['cancelled', 'cancelled', 1, 'failed'],
    ['failed', 'blocked', 10, 'blocked'],
  ] as const)('a run that is %s as %s returns its exit code', async (phase, outcome, exit, state) => {
    const answers = endingIn({ phase, outcome });
    const text = await run('run demo x --follow', answers);
    expect(text.code).toBe(exit);
    expect(text.out).toContain('[run:t-1] t-1/say => succeeded\n');
    expect(text.out).toMatch(new RegExp(`^Exit +${String(exit)}$`, 'm'));
    const json = await run('run demo x --follow --format json', endingIn({ phase, outcome }));
    expect(json.code).toBe(exit);
    expect(JSON.parse(json.out)).toMatchObject({
      outcome: 'workflow_run_terminal',
      terminal_state: state,
      exit_code: exit,
      run_id: 't-1',
      root_job_ids: ['t-1/say'],
      succeeded: ['t-1/say'],
      failed: [],
      blocked: [],
      cancelled: [],
    });
  });

  test('following stops at the first run that does not succeed', async () => {
    const { code, out } = await run(
      'run demo x --repeat 3 --follow --format json',
      endingIn({ phase: 'failed', outcome: 'blocked' }),
    );
    expect(code).toBe(10);
    expect(JSON.parse(out)).toMatchObject({
      outcome: 'workflow_runs_terminal',
      exit_code: 10,
      repeat: 3,
      runs: [
        { outcome: 'workflow_run_terminal' },
        { outcome: 'workflow_run_enqueued' },
        { outcome: 'workflow_run_enqueued' },
      ],
    });
  });
});

describe('help of run', () => {
  test('help with a workflow prints its inputs', async () => {
    const { code, out, calls } = await run('run demo --help');
    expect({ code, calls }).toEqual({ code: 0, calls: [] });
    expect(out).toContain('Usage: holdpoint run demo [options] [topic]');
    expect(out).toMatch(/--about, --topic <value> +position 1/);
    expect(out).toMatch(/--note <value> +default: none/);
  });

  test('help without a workflow prints the options', async () => {
    const { code, out } = await run('run --help');
    expect(code).toBe(0);
    expect(out).toContain('--spec-dir');
    expect(out).not.toContain('--input-named');
  });
});
