import { digestOf } from '@holdpoint/contracts/values/json';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import type { Client } from './bus/client.ts';
import { runProgram } from './program.ts';

const EXAMPLES = join(import.meta.dirname, '../../contracts/examples/api');
const NOW = Date.UTC(2026, 0, 15, 9, 31, 0);

type Call = readonly [endpoint: string, payload: unknown];
type Answers = Readonly<Record<string, unknown>>;

/** For approvals, the example about an effect instead of the in-doubt question. */
const fileOf = (name: string): string =>
  name === 'approvals.get' ? `${name}.response--effect.json` : `${name}.response.json`;

const example = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(EXAMPLES, fileOf(name)), 'utf8')) as Record<string, unknown>;

/** Services that return the contracts' examples, unless the test overrides them. */
const answering = (answers: Answers, calls: Call[], closed: () => void): Client =>
  ({
    call: async (service: string, endpoint: string, payload: unknown) => {
      const name = `${service}.${endpoint}`;
      calls.push([name, payload]);
      const answer = answers[name] ?? example(name);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    watch: async () => ({ stop: async () => undefined }),
    close: async () => closed(),
  }) as unknown as Client;

const run = async (line: string, answers: Answers = {}) => {
  const calls: Call[] = [];
  let [out, err, open] = ['', '', 0];
  const code = await runProgram(
    line.split(' ').map((word) => word.replaceAll('_', ' ')),
    {
      connect: async () => {
        open += 1;
        return answering(answers, calls, () => (open -= 1));
      },
      out: (text) => (out += text),
      err: (text) => (err += text),
      now: () => NOW,
    },
  );
  return { code, out, err, calls, open };
};

const refused = (code: ConstructorParameters<typeof HoldpointError>[0], message: string) =>
  new HoldpointError(code, message);

describe('requests to the services', () => {
  test.each([
    [
      'task submit --workflow sample --goal Say_hello',
      'orchestrator.submit',
      { workflow: 'sample', goal: 'Say hello' },
    ],
    [
      'task submit --workflow sample --goal g --id t-1 --input a=b --input n:=1 --criterion c1 --criterion c2',
      'orchestrator.submit',
      {
        workflow: 'sample',
        goal: 'g',
        id: 't-1',
        inputs: { a: 'b', n: 1 },
        acceptanceCriteria: ['c1', 'c2'],
      },
    ],
    ['task show t-1', 'orchestrator.get', { id: 't-1' }],
    [
      'task list --phase paused --limit 5 --after x',
      'orchestrator.list',
      { phase: 'paused', limit: 5, after: 'x' },
    ],
    [
      'task list --workflow draft@2 --requested-by ada --created-after 2026-01-15 --created-before 2026-01-16 --search greet',
      'orchestrator.list',
      {
        workflow: 'draft@2',
        requestedBy: 'ada',
        createdAfter: 1_768_435_200_000,
        createdBefore: 1_768_521_600_000,
        search: 'greet',
      },
    ],
    ['task watch t-1', 'orchestrator.history', { id: 't-1', after: 0, limit: 500 }],
    ['task cancel t-1 --reason no', 'orchestrator.cancel', { id: 't-1', reason: 'no' }],
    ['task pause t-1', 'orchestrator.pause', { id: 't-1' }],
    ['task resume t-1', 'orchestrator.resume', { id: 't-1' }],
    ['task retry t-1/append --no-rewind', 'orchestrator.retry', { id: 't-1', node: 'append' }],
    ['task retry t-1 --attempt 2', 'orchestrator.retry', { id: 't-1', attempt: 2 }],
    [
      'task retry t-1 --node append --rewind',
      'orchestrator.retry',
      { id: 't-1', node: 'append', rewind: true },
    ],
    ['task pause t-1/append', 'orchestrator.pause', { id: 't-1', node: 'append' }],
    ['task resume t-1 --node append', 'orchestrator.resume', { id: 't-1', node: 'append' }],
    [
      'task skip t-1 --node append --reason why',
      'orchestrator.skip',
      { id: 't-1', node: 'append', reason: 'why' },
    ],
    ['task fork t-1 --version 4 --id t-2', 'orchestrator.fork', { task: 't-1', version: 4, id: 't-2' }],
    ['approval list', 'approvals.list', {}],
    ['approval show a-1', 'approvals.get', { id: 'a-1' }],
    ['effect list t-1', 'executor.list', { task: 't-1' }],
  ])('`%s` calls the API', async (line, endpoint, payload) => {
    const ended = { events: [{ version: 1, at: NOW, type: 'completed', data: { phase: 'completed' } }] };
    const ack = { id: 't-1', phase: 'executing', version: 2 };
    const { calls, code, err, open } = await run(line, {
      'orchestrator.history': ended,
      'orchestrator.skip': ack,
      'orchestrator.fork': ack,
    });
    expect(calls).toEqual([[endpoint, payload]]);
    expect({ code, err, open }).toEqual({ code: 0, err: '', open: 0 });
  });

  test('a decision is bound to the shown or the given digest', async () => {
    const { digest } = example('approvals.get');
    const given = 'f'.repeat(64);
    const decided = async (line: string) => (await run(line)).calls.at(-1);
    expect(await decided('approval approve a-1')).toEqual([
      'approvals.decide',
      { id: 'a-1', decision: 'approve', digest },
    ]);
    expect(await decided(`approval reject a-1 --comment not_now --digest ${given}`)).toEqual([
      'approvals.decide',
      { id: 'a-1', decision: 'reject', digest: given, comment: 'not now' },
    ]);
  });
});

describe('output', () => {
  test('--json prints exactly the response, on one line', async () => {
    const answer = { id: 't-1', phase: 'queued', version: 1, since2: { text: '\u001b\u202e' } };
    const { out } = await run('task submit --workflow w --goal g --json', { 'orchestrator.submit': answer });
    expect(JSON.parse(out)).toEqual(answer);
    expect(out).toMatch(/^[ -~]+\n$/);
  });

  test('task show prints the task with its nodes', async () => {
    const { state: _, ...task } = example('orchestrator.get');
    const { out } = await run('task show t-1', { 'orchestrator.get': task });
    expect(out).toMatch(/^phase +failed \(version \d+\)$/m);
    expect(out).toMatch(
      /^ {2}append +blocked +did it happen\? a-\w+ {2}rejected by operator {2}ERR_FORBIDDEN: rejected by operator$/m,
    );
    expect(out).toMatch(/^ {2}worker_crash_detected +append +attempt 1 /m);
  });

  test('task show names the question of a program as one from the workflow', async () => {
    const { nodes, ...task } = example('orchestrator.get');
    const asking = { ...(nodes as object[])[0], verdict: undefined, error: undefined, question: 'a-7' };
    const { out } = await run('task show t-1', {
      'orchestrator.get': { ...task, state: { approved: false }, nodes: [asking] },
    });
    expect(out).toContain('question from the workflow a-7');
    expect(out).not.toContain('did it happen?');
  });

  test('approval show prints the whole effect and the decision', async () => {
    const { out } = await run('approval show a-1');
    expect(out).toContain('status        approved by operator on 2026-01-15 09:31:00Z: fine');
    expect(out).toContain('effect        cap.file.append (write_external) on file:greetings.txt, keyed');
    expect(out).toContain(String(example('approvals.get')['digest']));
    expect(out).toContain('    "line": "hello"');
  });

  test('a pending approval shows its remaining time', async () => {
    const pending = {
      ...example('approvals.get'),
      status: 'pending',
      decidedBy: undefined,
      decidedAt: undefined,
      comment: undefined,
    };
    const { out } = await run('approval show a-1', { 'approvals.get': pending });
    expect(out).toContain('status        pending, expires 2026-01-15 09:35:00Z (in 4 min)');
  });

  test('a decision prints its outcome and author', async () => {
    const { out } = await run('approval approve a-1');
    expect(out).toMatch(
      /^a-\w+ is approved by operator, rule u-\w+ created\n {2}t-\w+\/append: cap\.file\.append \(write_external\) on file:greetings\.txt\n$/,
    );
  });

  test('untrusted text never reaches the terminal unescaped', async () => {
    const nasty = '\u001b[2J\u202e\r\n';
    const effect = {
      uses: `u${nasty}`,
      kind: 'k',
      target: nasty,
      args: { [nasty]: nasty },
      effectClass: 'c',
      idempotencyKey: nasty,
    };
    const view = {
      ...example('approvals.get'),
      effect,
      digest: digestOf(effect),
      title: nasty,
      comment: nasty,
      decidedBy: nasty,
      requestedBy: nasty,
      audience: [nasty],
      task: nasty,
    };
    const task = {
      id: nasty,
      workflow: nasty,
      goal: nasty,
      phase: 'failed',
      version: 1,
      nodes: [{ id: nasty, status: nasty, attempt: 1, reason: nasty }],
      error: { code: nasty, message: nasty },
    };
    const events = [{ version: 1, at: NOW, type: nasty, data: { phase: 'failed' } }];
    const answers = {
      'approvals.get': view,
      'approvals.list': { items: [view], next: nasty },
      'approvals.decide': { id: nasty, status: 'approved', by: nasty },
      'orchestrator.get': task,
      'orchestrator.list': { items: [{ ...task, createdAt: NOW }], next: nasty },
      'orchestrator.history': { events },
      'orchestrator.cancel': { id: nasty, phase: 'failed', version: 1 },
      'executor.list': {
        items: [{ id: nasty, node: nasty, state: nasty, starts: 1, idempotencyKey: nasty }],
      },
    };
    const lines = [
      'approval show a',
      'approval list',
      'approval approve a',
      'task show t',
      'task list',
      'task watch t',
      'task cancel t',
      'effect list t',
    ];
    for (const line of lines) {
      const { out, err } = await run(line, answers);
      expect({ line, text: out.replaceAll('\n', '') + err }).toEqual({
        line,
        text: expect.not.stringMatching(/[\p{Cc}\p{Bidi_Control}]/u) as string,
      });
      expect(out).not.toBe('');
    }
  });
});

describe('exit codes', () => {
  test.each([
    ['completed', 0],
    ['failed', 1],
    ['cancelled', 1],
    ['paused', 10],
  ])('watching a task that is %s exits with %i', async (phase, code) => {
    const events = [{ version: 1, at: NOW, type: phase, data: { phase } }];
    const { code: exit, err } = await run('task watch t-1', { 'orchestrator.history': { events } });
    expect(exit).toBe(code);
    // A paused task continues only after a person has acted.
    expect(err.includes('holdpoint recovery resolve')).toBe(phase === 'paused');
  });

  test.each([
    ['completed', 0],
    ['failed', 1],
    ['paused', 10],
  ])(
    'submitting with --follow prints the events of a task that is %s, and exits with %i',
    async (phase, code) => {
      const events = [
        { version: 1, at: NOW, type: 'submitted', data: { phase: 'queued' } },
        { version: 2, at: NOW, type: phase, data: { phase } },
      ];
      const answers = {
        'orchestrator.submit': { id: 't-1', phase: 'awaiting_approval', created: true },
        'orchestrator.history': { events },
      };
      const line = 'task submit --workflow sample --goal g --follow';
      const { code: exit, out } = await run(line, answers);
      expect(exit).toBe(code);
      expect(out).toMatch(new RegExp(`^task t-1 is awaiting_approval\\n.* submitted *\\n.* ${phase} *\\n$`));
      const { out: json } = await run(`${line} --json`, answers);
      expect(
        json
          .trim()
          .split(/\n(?=\{)/)
          .map((each) => JSON.parse(each) as unknown),
      ).toEqual([answers['orchestrator.submit'], ...events]);
    },
  );

  test('a refusal prints code and text on standard error', async () => {
    const answers = {
      'orchestrator.get': refused('ORCHESTRATOR_UNKNOWN_TASK', 'there is no task t-1\n\u001b[31m'),
    };
    expect(await run('task show t-1', answers)).toMatchObject({
      code: 1,
      out: '',
      err: 'error ORCHESTRATOR_UNKNOWN_TASK: there is no task t-1\\u{a}\\u{1b}[31m\n',
      open: 0,
    });
  });

  test('a late decision prints the decision that stands', async () => {
    const answers = { 'approvals.decide': refused('APPROVALS_ALREADY_DECIDED', 'decided') };
    const { code, err } = await run('approval reject a-1', answers);
    expect({ code, err }).toEqual({
      code: 1,
      err: 'error APPROVALS_ALREADY_DECIDED: a-1 is already approved by operator on 2026-01-15 09:31:00Z: fine\n',
    });
  });

  test.each([
    'nonsense',
    'draft spec.md',
    'task submit --workflow w',
    'task show t.1',
    'task show',
    'task show t-1 t-2',
    'task skip t-1',
    'task fork t-1',
    'task fork t-1 --version 0',
    'task list --limit 0',
    'task list --phase lost',
    'task list --created-after yesterday',
    'task submit --workflow w --goal g --input a',
    'approval approve a-1 --digest abc',
    'approval list --nonsense',
  ])('`%s` is a usage error', async (line) => {
    const { code, out, err, calls } = await run(line);
    expect({ code, out, calls }).toEqual({ code: 2, out: '', calls: [] });
    expect(err).toMatch(/^error USAGE: /);
  });

  test('help exits with 0', async () => {
    expect(await run('task submit --help')).toMatchObject({ code: 0, err: '', calls: [] });
  });

  test('an unexpected error is rethrown', async () => {
    const bug = new TypeError('bug');
    await expect(run('task show t-1', { 'orchestrator.get': bug })).rejects.toBe(bug);
  });
});

describe('an alias is the same command', () => {
  const calls = async (line: string) => {
    const ack = { id: 't-1', phase: 'executing', version: 2 };
    return (await run(line, { 'orchestrator.pause': ack, 'orchestrator.retry': ack })).calls;
  };

  test.each([
    ['approvals list', 'approval list'],
    ['effects list t-1', 'effect list t-1'],
    ['tasks get t-1', 'task show t-1'],
    ['jobs pause --run t-1', 'task pause t-1'],
    ['jobs retry t-1/append', 'task retry t-1/append'],
    ['approvals respond a-1 --yes', 'approval answer a-1 --yes'],
  ])('%s means %s', async (alias, canonical) => {
    expect(await calls(alias)).toEqual(await calls(canonical));
  });
});

describe('an unknown command suggests a known one', () => {
  test.each([
    ['tasc list', 'task'],
    ['approval aprove a-1', 'approve'],
    ['doctor', 'admin doctor'],
    ['undo e-1', 'effect undo'],
    ['validate draft', 'workflow validate'],
  ])('%s suggests %s', async (line, suggestion) => {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toContain(`(Did you mean ${suggestion}?)`);
  });
});

test('--version prints the version', async () => {
  const { code, out, calls } = await run('--version');
  expect({ code, calls }).toEqual({ code: 0, calls: [] });
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
});
