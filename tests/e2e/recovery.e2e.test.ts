import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rollbackIdOf, TaskId, NodeId } from '@holdpoint/contracts/values/ids';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRepository, type Repository, scriptAgent } from '../conformance/support/repository.ts';
import { enqueue, nodeOf, untilEnded, untilJob, untilRun, viewOf } from '../conformance/support/runs.ts';
import { startStack, type Stack } from '../conformance/support/stack.ts';
import { until, untilTrue } from '../kit/until.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

/** An agent works in a worktree, its changes are committed, and a check decides whether they are good. */
const WORK = `
id = "template.work"
version = "v1"
[cli]
positional = ["slug"]
[params]
slug = ""
[[artifact_contracts]]
id = "prompt_text"
version = "v1"
[[nodes]]
id = "prepare"
uses = "cap.env.builtin.worktree.prepare"
args = { slug = "\${slug}", branch = "work/\${slug}" }
on = { succeeded = ["prompt"] }
[[nodes]]
id = "prompt"
uses = "cap.env.builtin.prompt.resolve"
args = { prompt_text = "Make the check pass." }
produces = { succeeded = [{ custom = { type_id = "prompt_text", key = "work" } }] }
on = { succeeded = ["agent"] }
[[nodes]]
id = "agent"
kind = "agent"
uses = "cap.agent.invoke"
needs = [{ custom = { type_id = "prompt_text", key = "work" } }]
on_error = { strategy = "recover" }
on = { succeeded = ["commit"] }
[[nodes]]
id = "commit"
uses = "cap.env.builtin.git.stage_commit"
args = { message = "work" }
on = { succeeded = ["check"] }
[[nodes]]
id = "check"
kind = "gate"
uses = "control.gate.stop_condition"
gates = [{ kind = "script", script = "sh check.sh" }]
retry = { mode = "until_gate", budget = 20 }
on_error = { strategy = "recover" }
on = { succeeded = ["done"], failed = ["agent"] }
[[nodes]]
id = "done"
kind = "gate"
uses = "control.terminal"
`;

/** Output in the style of a compiler or a test runner. */
const CHECK = `case "$(cat state.txt)" in
  good) exit 0 ;;
  broken) echo "src/greet.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'."; exit 2 ;;
  *) printf ' FAIL  src/greet.test.ts > greets by name\\nAssertionError: expected 1 to be 2\\n\\n Test Files  1 failed (1)\\n      Tests  1 failed (1)\\n'; exit 1 ;;
esac
`;

/** The script of each agent attempt; the last script is used for all later attempts. */
const inTurn = (...turns: readonly string[]): string =>
  [
    'case $n in',
    ...turns.map((turn, i) => `${i === turns.length - 1 ? '*' : String(i)}) ${turn} ;;`),
    'esac',
  ].join('\n');
const leaves = (state: string, approach: string, more = ''): string =>
  `echo ${state} > state.txt; echo "left it ${state}"; echo 'HOLDPOINT-REPORT {"approach": "${approach}"${more}}'`;
const exhausted = (file: string): string =>
  `echo half > ${file}; echo 'HOLDPOINT-REPORT {"approach": "a long one", "done": "wrote ${file}", "next": "the rest", "stop": "context_exhausted"}'`;
/** Kills the executor that runs it; the executor is restarted. */
const CRASH = `p=$PPID; while [ "$p" -gt 1 ]; do
    if tr '\\0' ' ' < /proc/$p/cmdline | grep -q 'services/executor'; then kill -9 "$p"; sleep 30; fi
    p=$(awk '{print $4}' /proc/$p/stat)
  done`;

const repositoryWith = (
  agent: string,
  rules = '',
): { readonly repository: Repository; readonly prompts: () => readonly string[] } => {
  const repository = createRepository(stack);
  const { argv, prompts } = scriptAgent(repository, agent);
  repository.commit(
    {
      '.holdpoint/workflows/work.toml': WORK,
      '.holdpoint/config.toml': `[agents.default]\nagent.command = ${JSON.stringify(argv)}\n`,
      '.gitignore': '.holdpoint/worktrees/\n',
      'check.sh': CHECK,
      'state.txt': 'wrong\n',
      ...(rules !== '' && { '.holdpoint/recovery.toml': rules }),
    },
    'flows',
  );
  return { repository, prompts };
};

const FLOW = '.holdpoint/workflows/work.toml';
const run = (repository: Repository, slug: string) => enqueue(repository, FLOW, slug);
const typed = async (repository: Repository, ...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await repository.holdpoint(...words);
  expect(code, `${out}${err}`).toBe(0);
  return out;
};
/** Recovery gets the last success as a notice, and no task waits for it. */
const allAttemptsOf = (task: string, node: string, count: number) =>
  until('recovery has recorded all attempts', async () => {
    const recorded = await attemptsOf(task, node);
    return recorded.length >= count ? recorded : undefined;
  });

const attemptsOf = async (task: string, node: string) =>
  (
    await stack.system.client.ask('recovery', 'history', {
      task: TaskId.parse(task),
      node: NodeId.parse(node),
    })
  ).items;

describe('recovery of agents', () => {
  test('an agent that breaks the build is reset to the last good build, gets the error and solves it differently', async () => {
    const { repository, prompts } = repositoryWith(
      inTurn(leaves('broken', 'I change the type'), leaves('good', 'I keep the type and convert the value')),
    );
    const { run_id: id } = await run(repository, 'build');
    const view = await untilEnded(stack, id);
    expect(view.outcome).toBe('succeeded');
    const [first] = await attemptsOf(id, 'check');
    expect(first).toMatchObject({
      outcome: 'failed',
      class: 'BROKEN_BUILD',
      approach: 'I change the type',
      verdict: { kind: 'rollback', rule: 'verdicts@3/build' },
      files: ['state.txt'],
    });
    expect(first?.verdict?.classification?.evidence).toContain('error TS2322');
    const rollback = await viewOf(stack, rollbackIdOf(TaskId.parse(id), NodeId.parse('check'), 1));
    expect(rollback).toMatchObject({ workflow: 'rollback@1', outcome: 'succeeded' });
    const { approval } = nodeOf(rollback, 'reset');
    const decided = await stack.system.client.ask('approvals', 'get', { id: approval as never });
    expect(decided).toMatchObject({ status: 'approved', surface: 'rule' });
    // The discarded changes are kept.
    const saved = repository.git('for-each-ref', '--format=%(refname)', 'refs/holdpoint/saved');
    expect(saved).toContain(`refs/holdpoint/saved/${id}/check/1`);
    expect(repository.git('show', `${saved.split('\n')[0] ?? ''}:state.txt`)).toBe('broken');
    expect(repository.git('show', 'work/build:state.txt')).toBe('good');
    expect(repository.git('log', '--format=%s', 'work/build')).toBe('work\nflows\nfirst');
    expect(prompts()).toHaveLength(2);
    expect(prompts()[1]).toContain('were rolled back');
    expect(prompts()[1]).toContain('I change the type');
    expect(prompts()[1]).toContain('error TS2322');
  });

  test('an agent that repeats itself is stopped with a full report, and a person resolves the job', async () => {
    const { repository, prompts } = repositoryWith(
      inTurn(leaves('wrong-$n', 'I add one to the counter before the greeting is printed')),
      '[thresholds]\nVERIFICATION_FAILED = 9\n',
    );
    const { run_id: id } = await run(repository, 'circle');
    const stuck = await untilJob(stack, id, 'check', 'escalated');
    expect(nodeOf(stuck, 'check').verdict).toMatchObject({
      kind: 'escalate',
      class: 'CIRCULAR_FIX',
      reason: 'several attempts took the same approach; the critical path of the task is blocked',
    });
    expect(nodeOf(stuck, 'done').wait?.detail).toContain('which is stuck');
    expect(prompts()).toHaveLength(3);
    expect(prompts()[2]).toContain('- Attempt 2: I add one to the counter');
    expect(prompts()[2]).toContain('Take a different approach');
    const job = `${id}/check`;
    await untilTrue('it is on the list', async () =>
      (await typed(repository, 'recovery', 'stuck')).includes(job),
    );
    const report = await typed(repository, 'recovery', 'report', job);
    for (const part of [
      '## Summary',
      '## Attempts made',
      '## The same approach',
      '## Error details',
      '## Files involved',
      '## Jobs that depend on it',
      'One job waits for this one: `done`.',
      '## Recommended actions',
    ])
      expect(report).toContain(part);
    for (const text of [
      'CIRCULAR',
      'Attempts 1 and 3, similarity 1:',
      'I add one to the counter',
      'AssertionError',
      'state.txt',
    ])
      expect(report).toContain(text);
    const history = JSON.parse(await typed(repository, 'recovery', 'history', job, '--json')) as {
      readonly status: string;
      readonly attempts: readonly {
        readonly session: number;
        readonly success: boolean;
        readonly approach: string;
      }[];
      readonly stuck_subtasks: readonly object[];
    };
    expect(history.status).toBe('stuck');
    expect(history.attempts).toHaveLength(3);
    expect(history.attempts[0]).toMatchObject({
      session: 1,
      success: false,
      approach: expect.stringContaining('counter') as string,
    });
    expect(history.stuck_subtasks).toHaveLength(1);
    await typed(repository, 'recovery', 'resolve', job, 'done', '--reason', 'I did it by hand');
    expect((await untilEnded(stack, id)).outcome).toBe('succeeded');
    await untilTrue(
      'the job leaves the list',
      async () => !(await typed(repository, 'recovery', 'stuck')).includes(job),
    );
  });

  test('an agent with an exhausted context continues in a new session, and its job stays in progress', async () => {
    const { repository, prompts } = repositoryWith(
      inTurn(exhausted('one.txt'), exhausted('two.txt'), leaves('good', 'I finish it')),
    );
    const { run_id: id } = await run(repository, 'long');
    expect((await untilEnded(stack, id)).outcome).toBe('succeeded');
    const attempts = await allAttemptsOf(id, 'agent', 3);
    expect(attempts.map(({ session, outcome, class: found }) => [session, outcome, found])).toEqual([
      [1, 'failed', 'CONTEXT_EXHAUSTED'],
      [2, 'failed', 'CONTEXT_EXHAUSTED'],
      [3, 'succeeded', undefined],
    ]);
    expect(prompts()[1]).toContain('## Hand-off from the session before');
    expect(prompts()[1]).toContain('wrote one.txt');
    expect(prompts()[1]).toContain('the rest');
    expect(prompts()[2]).toContain('- two.txt');
    expect(repository.git('show', 'work/long:one.txt')).toBe('half');
    expect(repository.git('log', '--format=%s', 'work/long')).toContain('wip: session 2 of agent ends');
  });

  test('an agent that crashes its worker repeatedly is stopped, and a person gets a question', async () => {
    const { repository, prompts } = repositoryWith(inTurn(CRASH));
    const { run_id: id } = await run(repository, 'crash');
    const stuck = await untilJob(stack, id, 'agent', 'escalated');
    expect(nodeOf(stuck, 'agent').verdict).toMatchObject({ kind: 'escalate', class: 'WORKER_CRASH' });
    expect(prompts()).toHaveLength(3);
    const { question } = nodeOf(stuck, 'agent');
    const request = await until('approvals has the question', () =>
      stack.system.client.ask('approvals', 'get', { id: question as never }),
    );
    expect(request).toMatchObject({ status: 'pending', stuck: { class: 'WORKER_CRASH' } });
    expect(request.body).toContain('The job crashes its executor');
    await typed(repository, 'approval', 'answer', String(question), 'cancel');
    const ended = await untilEnded(stack, id);
    expect(nodeOf(ended, 'agent').status).toBe('cancelled');
  });

  test('an agent that fails in all of these ways and then works completes its task', async () => {
    const { repository, prompts } = repositoryWith(
      inTurn(
        leaves('broken', 'I rewrite the type of the greeting'),
        exhausted('notes.txt'),
        CRASH,
        leaves('wrong', 'I count from zero'),
        leaves('good', 'I read the name from the arguments and keep the rest'),
      ),
    );
    const { run_id: id } = await run(repository, 'all');
    const view = await untilRun(
      stack,
      id,
      'ends',
      ({ phase }) => phase === 'completed' || phase === 'failed',
    );
    expect(view.outcome).toBe('succeeded');
    const attempts = await allAttemptsOf(id, 'check', 3);
    expect(attempts.map(({ class: found }) => found)).toEqual([
      'BROKEN_BUILD',
      'VERIFICATION_FAILED',
      undefined,
    ]);
    expect(view.checkpoints?.map(({ kind }) => kind)).toContain('worker_crash_detected');
    expect(prompts()).toHaveLength(5);
    expect(readFileSync(join(repository.root, 'state.txt'), 'utf8')).toBe('wrong\n');
  });
});
