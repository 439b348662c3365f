import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRepository, giveFlows } from './support/repository.ts';
import { definitionOf, enqueue, follow, newRun, submissionOf, untilJob, viewOf } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

/** One job that writes its inputs to a file. */
const noted = (id: string): string => `
id = "template.${id}"
version = "v1"

[cli]
positional = ["slug", "spec_file"]

[cli.named]
name = "slug"
file = "spec_file"

[params]
slug = ""
spec_file = ""
word = "nothing"

[[nodes]]
id = "note"
kind = "shell"
uses = "cap.env.shell.command.run"
args = { command = "printf '%s' '\${slug}|\${spec_file}|\${word}' > ${id}.txt" }
`;

const NOTE = '.holdpoint/workflows/note.toml';

const noting = () => {
  const repository = createRepository(stack);
  repository.write(NOTE, noted('note'));
  return repository;
};

describe.concurrent('the choice of a workflow', () => {
  test('1. an alias composes two stages: one root, --set reaches both, and the run records its origin', async () => {
    const repository = createRepository(stack);
    repository.write('.holdpoint/workflows/one.toml', noted('one'));
    repository.write('.holdpoint/workflows/two.toml', noted('two'));
    repository.write('.holdpoint/workflows/both.toml', BOTH);
    repository.write('.holdpoint/config.toml', '[commands]\nboth = "template.both@v1"\n');
    const { code, ended, text } = await follow(repository, 'both', '--set', 'word=hello');
    expect(code, text).toBe(0);
    expect(ended).toMatchObject({
      workflow_template_selector: 'template.both@v1',
      workflow_template_id: 'template.both',
      workflow_template_version: 'v1',
      root_job_ids: [`${ended.run_id}/first__note`],
      succeeded: [`${ended.run_id}/first__note`, `${ended.run_id}/second__note`],
    });
    expect((await viewOf(stack, ended.run_id)).selector).toBe('both');
    expect(repository.read('one.txt')).toBe('||hello');
    expect(repository.read('two.txt')).toBe('||hello');
  });

  test('3. a workflow is named by file:, and its run records that', async () => {
    const repository = noting();
    const enqueued = await enqueue(repository, `file:${NOTE}`, 'a');
    expect(enqueued).toMatchObject({ workflow_template_selector: `file:${NOTE}` });
    await untilJob(stack, enqueued.run_id, 'note', 'succeeded');
    const { code, out } = await repository.holdpoint('jobs', 'list', '--run', enqueued.run_id, '--all');
    expect(code).toBe(0);
    expect(out).toContain(`${enqueued.run_id}/note`);
  });

  test('9. the shipped workflows use the known labels and none of the old Vizier labels', async () => {
    const repository = createRepository(stack);
    expect(await repository.holdpoint('workflow', 'init')).toMatchObject({ code: 0 });
    const labels = (name: string): readonly string[] =>
      [...repository.read(`.holdpoint/workflows/${name}.toml`).matchAll(/^uses = "(.*)"$/gm)].map(
        ([, label = '']) => label,
      );
    expect(labels('draft')).toEqual([
      'cap.env.builtin.worktree.prepare',
      'cap.env.builtin.prompt.resolve',
      'cap.agent.invoke',
      'cap.env.builtin.plan.persist',
      'cap.env.builtin.git.stage_commit',
      'cap.env.builtin.worktree.cleanup',
      'control.terminal',
    ]);
    expect(labels('approve')).toContain('control.gate.stop_condition');
    expect(labels('merge')).toEqual([
      'cap.env.builtin.git.integrate_plan_branch',
      'control.gate.conflict_resolution',
      'control.gate.cicd',
      'control.terminal',
    ]);
    const checked = await repository.holdpoint('run', 'merge', 'a-slug', '--check');
    expect(checked, checked.err).toMatchObject({ code: 0 });
  });
});

describe.concurrent('the inputs of a run', () => {
  test('2. --set reaches needs, products, locks, preconditions, the script of a gate, and the retry budget', async () => {
    const repository = createRepository(stack);
    repository.write('.holdpoint/workflows/wide.toml', WIDE);
    const given = [
      'key=k1',
      'lane=fast',
      'branch=main',
      'check=test -s made.txt',
      'mode=until_gate',
      'tries=2',
    ];
    const { code, ended, text } = await follow(
      repository,
      '.holdpoint/workflows/wide.toml',
      ...given.flatMap((one) => ['--set', one]),
    );
    expect(code, text).toBe(0);
    const { nodes } = await definitionOf(stack, ended.run_id);
    const thing = { type: 'custom', typeId: 'thing', key: 'k1' };
    expect(nodes[0]).toMatchObject({
      id: 'make',
      produces: { succeeded: [thing] },
      locks: [{ key: 'lane:fast', mode: 'exclusive' }],
      preconditions: [{ kind: 'branch_exists', branch: 'main' }],
    });
    expect(nodes[1]).toMatchObject({ id: 'save', needs: [thing] });
    expect(nodes[2]).toMatchObject({
      id: 'gate',
      script: 'test -s made.txt',
      retry: { mode: 'until_gate', budget: 2 },
    });
  });

  test('4. an undeclared option is a parameter', async () => {
    const repository = noting();
    const { code, text } = await follow(repository, NOTE, '--word=cats', '--spec-file', 'a.md');
    expect(code, text).toBe(0);
    expect(repository.read('note.txt')).toBe('|a.md|cats');
  });

  test('5. positional inputs fill the parameters in order', async () => {
    const repository = noting();
    const { code, text } = await follow(repository, NOTE, 'first', 'second.md');
    expect(code, text).toBe(0);
    expect(repository.read('note.txt')).toBe('first|second.md|nothing');
  });

  test('6. --name and --file set the slug and the specification', async () => {
    const repository = noting();
    const { code, text } = await follow(repository, NOTE, '--file', 'b.md', '--name', 'login');
    expect(code, text).toBe(0);
    expect(repository.read('note.txt')).toBe('login|b.md|nothing');
  });

  test('7. an untracked specification is copied when the run is queued, and its path is kept', async () => {
    const repository = createRepository(stack);
    const agent = giveFlows(repository);
    repository.write('spec.md', 'As it was.\n');
    const { run_id: run } = await enqueue(repository, 'draft', 'spec.md', 'snap', '--require-approval');
    await untilJob(stack, run, 'worktree_prepare', 'waiting_on_approval');
    repository.write('spec.md', 'As it became.\n');
    const approved = await repository.holdpoint('jobs', 'approve', '--run', run);
    expect(approved, approved.err).toMatchObject({ code: 0 });
    await untilJob(stack, run, 'terminal', 'succeeded');
    expect(agent.prompts()[0]).toContain('As it was.');
    expect(repository.git('show', 'draft/snap:.holdpoint/plans/snap.md')).toContain('As it was.');
    expect((await submissionOf(stack, run)).inputs).toMatchObject({ spec_file: 'spec.md' });
  });
});

describe.concurrent('a refused run leaves no trace', () => {
  const refused = async (repository: ReturnType<typeof createRepository>, ...words: readonly string[]) => {
    const run = newRun();
    const answer = await repository.holdpoint('run', ...words, '--id', run);
    expect(answer.code, answer.out).toBe(1);
    await expect(viewOf(stack, run)).rejects.toThrow('ORCHESTRATOR_UNKNOWN_TASK');
    return answer.err;
  };

  test('8. a missing required input is reported with its job, its option and its positional form', async () => {
    const repository = createRepository(stack);
    giveFlows(repository);
    const err = await refused(repository, 'draft');
    expect(err).toContain('worktree_prepare');
    expect(err).toContain('--name VALUE');
    expect(err).toContain('<spec_file> <slug>');
  });

  test('23. a placeholder without a value outside of the arguments is reported with its position', async () => {
    const repository = createRepository(stack);
    repository.write('.holdpoint/workflows/wide.toml', WIDE.replace('lane:${lane}', 'lane:${lain}'));
    const err = await refused(repository, '.holdpoint/workflows/wide.toml');
    expect(err).toContain('nodes[make].locks[0].key');
    expect(err).toContain('lain');
  });

  test('24. an old Vizier label is refused', async () => {
    const repository = createRepository(stack);
    repository.write(NOTE, noted('note').replace('cap.env.shell.command.run', 'vizier.shell.run'));
    const err = await refused(repository, NOTE);
    expect(err).toContain('vizier.shell.run');
    expect(err).toContain('nodes[note].uses');
  });
});

const BOTH = `
id = "template.both"
version = "v1"

[[imports]]
name = "first"
path = "one.toml"

[[imports]]
name = "second"
path = "two.toml"

[[links]]
from = "first"
to = "second"
`;

const WIDE = `
id = "template.wide"
version = "v1"

[params]
key = "none"
lane = "slow"
branch = "no-such-branch"
check = "false"
mode = "never"
tries = "0"

[[artifact_contracts]]
id = "thing"
version = "v1"

[[nodes]]
id = "make"
kind = "shell"
uses = "cap.env.shell.command.run"
args = { command = "echo made > made.txt" }
locks = [{ key = "lane:\${lane}", mode = "exclusive" }]
preconditions = [{ kind = "custom", id = "branch_exists", args = { branch = "\${branch}" } }]
produces = { succeeded = [{ custom = { type_id = "thing", key = "\${key}" } }] }
on = { succeeded = ["save"] }

[[nodes]]
id = "save"
uses = "cap.env.builtin.git.stage_commit"
args = { message = "save" }
needs = [{ custom = { type_id = "thing", key = "\${key}" } }]
on = { succeeded = ["gate"] }

[[nodes]]
id = "gate"
kind = "gate"
uses = "control.gate.stop_condition"
gates = [{ kind = "script", script = "\${check}" }]
retry = { mode = "\${mode}", budget = "\${tries}" }
on = { failed = ["save"] }
`;
