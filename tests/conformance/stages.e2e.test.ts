import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whileApproving } from './support/approver.ts';
import { carriedOut } from './support/plans.ts';
import { createRepository, giveFlows, PLAN_OR_WORK } from './support/repository.ts';
import { enqueue, follow, jobsOf, newRun, nodeOf, untilEnded, untilJob, viewOf } from './support/runs.ts';
import { startStack, type Stack } from './support/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const SAY = 'echo "the plan of a fixed reply"';

describe.concurrent('the draft stage', () => {
  test("10. the agent's reply becomes the body of the plan, and stays after the agent has ended", async () => {
    const repository = createRepository(stack);
    const agent = giveFlows(repository, SAY);
    repository.write('spec.md', 'Greet people by name.\n');
    const { code, ended, text } = await follow(repository, 'draft', 'spec.md', 'greet');
    expect(code, text).toBe(0);
    const view = await viewOf(stack, ended.run_id);
    expect(jobsOf(view)).toMatchObject({
      worktree_prepare: 'succeeded',
      resolve_prompt: 'succeeded',
      invoke_agent: 'succeeded',
      persist_plan: 'succeeded',
      stage_commit: 'succeeded',
      terminal: 'succeeded',
    });
    const plan = repository.git('show', 'draft/greet:.holdpoint/plans/greet.md');
    expect(plan).toContain('the plan of a fixed reply');
    expect(plan).toContain('Greet people by name.');
    expect(agent.prompts()).toHaveLength(1);
    expect(agent.prompts()[0]).toContain('Greet people by name.');
  });

  test('11. the plan is committed although git ignores its folder', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, SAY);
    repository.commit({ '.gitignore': '.holdpoint/plans/\n' }, 'ignore');
    const { code, text } = await follow(repository, 'draft', '--slug', 'hidden', '--set', 'spec_text=x y');
    expect(code, text).toBe(0);
    expect(repository.git('show', 'draft/hidden:.holdpoint/plans/hidden.md')).toContain('fixed reply');
  });
});

describe.concurrent('the stages draft, approve and merge', () => {
  test('12. each stage runs by its alias and is followed to its end; the merge has the requested message', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    const drafted = await follow(repository, 'draft', '--slug', 'greet', '--set', 'spec_text=Greet people.');
    expect(drafted.code, drafted.text).toBe(0);
    const approved = await follow(repository, 'approve', 'greet', 'draft/greet');
    expect(approved.code, approved.text).toBe(0);
    const run = newRun();
    const { code, ended, text } = await whileApproving(repository, [run], () =>
      follow(
        repository,
        'merge',
        'greet',
        '--target',
        'main',
        '--id',
        run,
        '--set',
        'merge_message=feat: greet',
      ),
    );
    expect(code, text).toBe(0);
    expect(ended.terminal_state).toBe('succeeded');
    expect(repository.git('log', '-1', '--format=%s', 'main')).toBe('feat: greet');
    expect(repository.read('greeting.txt')).toBe('greeting\n');
    expect(repository.git('status', '--porcelain')).toBe('');
  });

  test('13. approve finds the branch of the draft by the slug alone', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    const draft = await enqueue(repository, 'draft', '--slug', 'alone', '--set', 'spec_text=Greet people.');
    expect((await untilEnded(stack, draft.run_id)).outcome).toBe('succeeded');
    const { code, text } = await follow(repository, 'approve', 'alone');
    expect(code, text).toBe(0);
    expect(repository.git('show', 'draft/alone:greeting.txt')).toBe('greeting');
    expect(repository.git('branch', '--list', 'draft/*')).toContain('draft/alone');
  });

  test('14. the message of a commit is read from the reply of an agent', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, 'echo "docs: what the agent calls it"');
    repository.write('.holdpoint/workflows/named.toml', NAMED_COMMIT);
    repository.write('notes.md', 'a note\n');
    const { code, text } = await follow(repository, '.holdpoint/workflows/named.toml');
    expect(code, text).toBe(0);
    expect(repository.git('log', '-1', '--format=%s')).toBe('docs: what the agent calls it');
    expect(repository.git('show', 'HEAD:notes.md')).toBe('a note');
  });

  test('15. three stages queued at once, without --after: later ones wait for the artifacts of earlier ones', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    const merge = await enqueue(repository, 'merge', 'queued', '--target', 'main');
    const approve = await enqueue(repository, 'approve', 'queued');
    await untilJob(stack, merge.run_id, 'merge_integrate', 'waiting_on_deps');
    const waiting = await untilJob(stack, approve.run_id, 'worktree_prepare', 'waiting_on_deps');
    expect(nodeOf(waiting, 'worktree_prepare').wait).toMatchObject({ kind: 'artifacts' });
    const draft = await enqueue(repository, 'draft', '--slug', 'queued', '--set', 'spec_text=Greet.');
    const ended = await whileApproving(repository, [merge.run_id], async () => [
      await untilEnded(stack, draft.run_id),
      await untilEnded(stack, approve.run_id),
      await untilEnded(stack, merge.run_id),
    ]);
    expect(ended.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(repository.git('show', 'main:greeting.txt')).toBe('greeting');
  });

  test('18. a merge finds its source branch by the slug', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    await carriedOut(repository, 'source', { 'greeting.txt': 'greeting\n' });
    const run = newRun();
    const { code, text } = await whileApproving(repository, [run], () =>
      follow(repository, 'merge', 'source', '--id', run),
    );
    expect(code, text).toBe(0);
    expect(repository.git('show', 'main:greeting.txt')).toBe('greeting');
    expect(repository.git('branch', '--list', 'draft/source')).toBe('');
  });

  test('19. the message of the merge contains the plan, and its document is gone from the source', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    await carriedOut(repository, 'kept', { 'greeting.txt': 'greeting\n' });
    const run = newRun();
    const { code, text } = await whileApproving(repository, [run], () =>
      follow(repository, 'merge', 'kept', '--id', run, '--set', 'delete_branch=false'),
    );
    expect(code, text).toBe(0);
    expect(repository.git('log', '-1', '--format=%B', 'main')).toContain('the plan of a fixed reply');
    const files = (branch: string) => repository.git('ls-tree', '-r', '--name-only', branch).split('\n');
    expect(files('draft/kept')).toContain('greeting.txt');
    expect(files('draft/kept')).not.toContain('.holdpoint/plans/kept.md');
    expect(files('main')).not.toContain('.holdpoint/plans/kept.md');
  });

  test('22. a conflict blocks the merge, writes a sentinel, and leaves the checkout unchanged', async () => {
    const repository = createRepository(stack);
    giveFlows(repository, PLAN_OR_WORK);
    await carriedOut(repository, 'clash', { 'greeting.txt': 'greeting\n' });
    repository.commit({ 'greeting.txt': 'another\n' }, 'another greeting');
    const before = repository.git('rev-parse', 'main');
    const { code, ended, text } = await follow(
      repository,
      'merge',
      'clash',
      '--set',
      'conflict_auto_resolve=false',
    );
    expect(code, text).toBe(10);
    expect(ended.terminal_state).toBe('blocked');
    expect(ended.blocked).toContain(`${ended.run_id}/merge_integrate`);
    expect(repository.has('.holdpoint/tmp/merge-conflicts/clash.json')).toBe(true);
    expect(repository.git('rev-parse', 'main')).toBe(before);
    expect(repository.git('status', '--porcelain')).toBe('');
  });
});

const NAMED_COMMIT = `
id = "template.named"
version = "v1"

[[artifact_contracts]]
id = "prompt_text"
version = "v1"

[[artifact_contracts]]
id = "commit_message"
version = "v1"

[[nodes]]
id = "stage"
uses = "cap.env.builtin.git.stage"
args = { files_json = '["notes.md"]' }
on = { succeeded = ["ask"] }

[[nodes]]
id = "ask"
uses = "cap.env.builtin.prompt.resolve"
args = { prompt_text = "What is this commit called?" }
produces = { succeeded = [{ custom = { type_id = "prompt_text", key = "named" } }] }
on = { succeeded = ["agent"] }

[[nodes]]
id = "agent"
kind = "agent"
uses = "cap.agent.invoke"
needs = [{ custom = { type_id = "prompt_text", key = "named" } }]
produces = { succeeded = [{ custom = { type_id = "commit_message", key = "named" } }] }
on = { succeeded = ["commit"] }

[[nodes]]
id = "commit"
uses = "cap.env.builtin.git.commit"
needs = [{ custom = { type_id = "commit_message", key = "named" } }]
args = { message = "read_payload(commit_message)" }
`;
