import { digestOf } from '@holdpoint/contracts/values/json';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import type { Client } from '../bus/client.ts';
import { type Answers, NOW, typeLine } from '../../testing/terminal.ts';

const EXAMPLES = join(import.meta.dirname, '../../../contracts/examples/api');
const {
  decidedBy: _by,
  decidedAt: _at,
  comment: _comment,
  ...example
} = JSON.parse(readFileSync(join(EXAMPLES, 'approvals.get.response--effect.json'), 'utf8')) as Record<
  string,
  unknown
>;
const effect = {
  ...(example['effect'] as Record<string, unknown>),
  args: { file: 'greetings.txt', line: 'hello' },
};
const pending = {
  ...example,
  id: 'a-1',
  status: 'pending',
  expiresAt: NOW + 240_000,
  workflow: 'release',
  effect,
  digest: digestOf(effect),
};
const approved = ({ id }: { id: string }) => ({ id, status: 'approved', by: 'ada' });
const me = { name: 'ada', groups: ['operators'], roles: ['chief'], scopes: [], administrator: false };
const services: Answers = {
  'approvals.get': (asked: { id: string }) => ({ ...pending, id: asked.id }),
  'approvals.list': { items: [pending] },
  'approvals.decide': approved,
  'approvals.whoami': me,
};
const type = (args: string | readonly string[], answers: Answers = {}) =>
  typeLine(typeof args === 'string' ? args.split(' ') : args, { ...services, ...answers });
const decided = async (args: string | readonly string[]) => (await type(args)).calls.at(-1)?.[1];

describe('approval list', () => {
  test('--mine asks for every audience name of the user', async () => {
    const { calls } = await type('approval list --mine --audience role:auditor --order risk');
    const audience = ['user:ada', 'operators', 'group:operators', 'role:chief', 'role:auditor'];
    expect(calls).toEqual([
      ['approvals.whoami', {}],
      ['approvals.list', { audience, order: 'risk' }],
    ]);
  });

  test('the list sends every filter', async () => {
    const words = ['approval', 'list', '--audience', 'operators', '--kind', 'deploy', '--risk', 'high'];
    const more = ['--task', 't-1', '--requester', 'ada', '--search', 'to production', '--limit', '7'];
    const { calls } = await type([...words, ...more]);
    expect(calls).toEqual([
      [
        'approvals.list',
        {
          audience: ['operators'],
          kind: 'deploy',
          risk: 'high',
          task: 't-1',
          requester: 'ada',
          search: 'to production',
          limit: 7,
        },
      ],
    ]);
  });

  test.each(['--kind work', '--risk none', '--order latest', '--task a.b'])(
    'approval list refuses %s',
    async (option) => {
      expect(await type(`approval list ${option}`)).toMatchObject({ code: 2, calls: [] });
    },
  );

  test('the list shows risk, time left and votes', async () => {
    const vote = { by: 'grace', decision: 'approve', at: NOW };
    const item = { ...pending, risk: undefined, policy: { quorum: 2 }, votes: [vote] };
    const { out } = await type('approval list', { 'approvals.list': { items: [item] } });
    expect(out).toMatch(/^a-1 .*medium +expires in 4 min, 1 of 2 approved +cap\.file\.append/m);
  });

  test('the list fits the terminal, and a pipe gets it whole', async () => {
    const item = { ...pending, title: 'a title that is longer than a row of a narrow terminal' };
    const answers = { 'approvals.list': { items: [item], next: 'c'.repeat(60) } };
    const terminal = { columns: 50, ansi: true, colour: false, ask: async () => undefined };
    const [header = '', row = '', more = ''] = (
      await typeLine(['approval', 'list'], answers, { terminal })
    ).out.split('\n');
    expect([header.length, row.length]).toEqual([50, 50]);
    expect(row).toMatch(/^a-1 /);
    // A cut cursor would be useless.
    expect(more).toBe(`more: --after ${'c'.repeat(60)}`);
    expect((await typeLine(['approval', 'list'], answers)).out).toContain('narrow terminal');
  });

  test('the list continues after empty pages', async () => {
    const pages = (asked: { after?: string }) => {
      const number = Number(asked.after ?? 0);
      return number < 3 ? { items: [], next: String(number + 1) } : { items: [pending] };
    };
    const { out, calls } = await type('approval list --search needle', { 'approvals.list': pages });
    expect(out).toMatch(/^a-1 /m);
    expect(calls).toHaveLength(4);
  });
});

describe('approval show', () => {
  test('approval show prints the text and policy of the gate, the votes and the risk', async () => {
    const shown = {
      ...pending,
      body: 'Look at the plan.\nstatus      approved\u001b[2J',
      policy: { quorum: 2, fourEyes: true, decisions: ['approve', 'reject'] },
      votes: [{ by: 'grace', decision: 'approve', comment: 'fine', at: NOW }],
    };
    const { out } = await type('approval show a-1', { 'approvals.get': shown });
    expect(out).toContain('  | Look at the plan.\n  | status      approved\\u{1b}[2J\n');
    expect(out).toMatch(/^needs +2 different approvers$/m);
    expect(out).toMatch(/^ +approver is not the requester \(four eyes\)$/m);
    expect(out).toMatch(/^votes +approve by grace on 2026-01-15 09:31:00Z: fine$/m);
    expect(out).toMatch(/^risk +medium$/m);
    expect(out).toContain('    "line": "hello"');
  });

  test('approval show names the repository of an effect in one', async () => {
    const { out } = await type('approval show a-1', { 'approvals.get': pending });
    expect(out).not.toMatch(/^repository/m);
    const effect = { ...pending.effect, args: { ...pending.effect.args, repository: '/srv/shop\u202e' } };
    const merge = await type('approval show a-1', { 'approvals.get': { ...pending, effect } });
    expect(merge.out).toMatch(/^repository +\/srv\/shop\\u\{202e\}$/m);
  });

  const previous = {
    id: 'a-0',
    status: 'changes_requested',
    comment: 'say goodbye\u202e',
    changes:
      '--- effect before\n+++ effect now\n@@ -1 +1 @@\n-    "line": "hello"\n+    "line": "bye\u001b[2J"',
  };

  test('approval show prints the outcome of the last review and the changes since then', async () => {
    const { out } = await type('approval show a-1', {
      'approvals.get': { ...pending, revision: 2, previous },
    });
    expect(out).toContain('previously, a-0 was sent back for changes\n  | say goodbye\\u{202e}\n');
    expect(out).toContain('  -    "line": "hello"\n  +    "line": "bye\\u{1b}[2J"\n');
    expect(out).not.toContain('\u001b');
  });

  test('approval show uses colours only on a colour terminal', async () => {
    const terminal = { columns: 80, ansi: true, colour: true, ask: () => Promise.resolve(undefined) };
    const answers = { ...services, 'approvals.get': { ...pending, revision: 2, previous } };
    const { out } = await typeLine(['approval', 'show', 'a-1'], answers, { terminal });
    expect(out).toContain('\u001b[32m  +    "line": "bye\\u{1b}[2J"\u001b[39m');
    expect(out).toContain('\u001b[31m  -    "line": "hello"\u001b[39m');
  });
});

describe('approval approve and reject', () => {
  test('a vote that does not decide prints the number of missing approvals', async () => {
    const answer = { id: 'a-1', status: 'pending', by: 'ada', approvalsMissing: 1 };
    const { out, code } = await type('approval approve a-1', { 'approvals.decide': answer });
    expect(code).toBe(0);
    expect(out).toMatch(/^a-1: ada voted approve; still pending: 1 more approval needed\n/);
  });

  test('approval deny is approval reject', async () => {
    const { calls, out } = await type('approval deny a-1 --comment late', {
      'approvals.get': pending,
      'approvals.decide': { id: 'a-1', status: 'rejected', by: 'ada' },
    });
    expect(calls.at(-1)).toEqual([
      'approvals.decide',
      { id: 'a-1', decision: 'reject', digest: pending['digest' as never], comment: 'late' },
    ]);
    expect(out).toMatch(/^a-1 is rejected by ada$/m);
  });

  test('a request for changes is reported as a sentence', async () => {
    const { out } = await type('approval request-changes a-1 --comment shorter', {
      'approvals.get': pending,
      'approvals.decide': { id: 'a-1', status: 'changes_requested', by: 'ada' },
    });
    expect(out).toMatch(/^a-1 is sent back for changes by ada$/m);
  });

  test('request-changes needs a comment', async () => {
    expect(await type('approval request-changes a-1')).toMatchObject({ code: 2, calls: [] });
    expect(await decided(['approval', 'request-changes', 'a-1', '--comment', 'to staging'])).toEqual({
      id: 'a-1',
      decision: 'request_changes',
      digest: pending['digest' as never],
      comment: 'to staging',
    });
  });

  test('several approvals are decided one by one, and a refused one does not stop the others', async () => {
    const standing = { ...pending, id: 'a-2', status: 'rejected', decidedBy: 'grace', decidedAt: NOW };
    const answers: Answers = {
      'approvals.get': ({ id }: { id: string }) => (id === 'a-2' ? standing : { ...pending, id }),
      'approvals.decide': ({ id }: { id: string }) =>
        id === 'a-2' ? new HoldpointError('APPROVALS_ALREADY_DECIDED', 'decided') : approved({ id }),
    };
    const { code, out, calls } = await type('approval approve a-1 a-2 a-3', answers);
    expect(out).toBe(
      'a-1 is approved by ada\n' +
        'a-2: APPROVALS_ALREADY_DECIDED: a-2 is already rejected by grace on 2026-01-15 09:31:00Z\n' +
        'a-3 is approved by ada\n',
    );
    expect(code).toBe(1);
    expect(calls.filter(([name]) => name === 'approvals.decide')).toHaveLength(3);
    const { code: fine } = await type('approval reject a-1 a-3', services);
    expect(fine).toBe(0);
  });

  test('several approvals print one line of JSON each', async () => {
    const { out } = await type('approval approve a-1 a-2 --json');
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(['a-1', 'a-2'].map((id) => approved({ id })));
  });

  test('--digest needs exactly one approval', async () => {
    expect(await type(`approval approve a-1 a-2 --digest ${'f'.repeat(64)}`)).toMatchObject({
      code: 2,
      calls: [],
    });
  });
});

describe('approve and add a rule', () => {
  const ruleIn = async (args: readonly string[]): Promise<unknown> => {
    const said = (await decided(['approval', 'approve', 'a-1', ...args])) as { remember?: unknown };
    return said.remember;
  };
  const match = {
    kinds: ['write_external'],
    capability: 'cap.file.append',
    target: 'file:greetings.txt',
    workflow: 'release',
  };
  const DAY_MS = 86_400_000;

  test('--remember creates a rule for similar requests that lasts 30 days', async () => {
    expect(await ruleIn(['--remember'])).toEqual({
      name: 'cap.file.append on file:greetings.txt',
      match,
      expiresInMs: 30 * DAY_MS,
    });
  });

  test('--remember sends name, lifetime, uses and targets', async () => {
    const more = ['--expires', '7d', '--uses', '3', '--match-target', 'file:*'];
    expect(await ruleIn(['--remember', 'greetings', ...more])).toEqual({
      name: 'greetings',
      match: { ...match, target: 'file:*' },
      expiresInMs: 7 * DAY_MS,
      usesMax: 3,
    });
    const { target: _, ...anywhere } = match;
    expect(await ruleIn(['--remember', '--match-any-target'])).toMatchObject({ match: anywhere });
  });

  test.each([
    ['a kind that a person looks at', { effect: { ...effect, kind: 'merge' } }, ''],
    ['a gate that wants a person', { policy: { rules: false } }, ''],
    ['a question', { inDoubt: { epoch: 1, reason: 'lost' } }, ''],
    ['another target', {}, ' --match-target elsewhere'],
  ])('--remember is refused for %s, and decides nothing', async (_, more, options) => {
    const { code, err, calls } = await type(`approval approve a-1 --remember x${options}`, {
      'approvals.get': { ...pending, ...more },
    });
    expect(code).toBe(1);
    expect(err).toContain('CLI_NOTHING_TO_REMEMBER');
    expect(calls.map(([name]) => name)).toEqual(['approvals.get']);
  });

  test.each([
    '--expires 7d',
    '--uses 2',
    '--match-any-target',
    '--remember --match-target x --match-any-target',
  ])('%s needs --remember', async (options) => {
    expect(await type(`approval approve a-1 ${options}`)).toMatchObject({ code: 2, calls: [] });
  });
});

describe('a question about a stuck job', () => {
  const recovery = {
    ...effect,
    kind: 'other',
    effectClass: 'idempotent',
    uses: 'control.recover',
    target: 'job:t-1/build',
    args: { secret: 1 },
  };
  const question = {
    ...pending,
    effect: recovery,
    digest: digestOf(recovery),
    title: 'stuck: build',
    task: 't-1',
    node: 'build',
    risk: undefined,
    policy: { quorum: 2, decisions: ['approve'], rules: false },
    stuck: { class: 'CIRCULAR_FIX', reason: 'the same approach\nthree times' },
    body: '# build is stuck\nholdpoint approval approve a-9\u001b[2J',
  };
  const answered = { id: 'a-1', status: 'answered', by: 'ada' };
  const ask = (args: string | readonly string[], more: Answers = {}) =>
    type(args, {
      'approvals.get': question,
      'approvals.list': { items: [question] },
      'approvals.decide': answered,
      ...more,
    });

  test('a list marks a question about a stuck job', async () => {
    const { out } = await ask('approval list');
    expect(out).toMatch(
      /^a-1 +t-1\/build +how to continue\? +low +expires in 4 min +stuck with CIRCULAR_FIX +stuck: build$/m,
    );
  });

  test('a stuck job is shown with its report and the consequence of each answer, without an effect', async () => {
    const { out, calls } = await ask('approval show a-1');
    expect(out).toMatch(/^risk +low$/m);
    expect(out).toMatch(/^ {2}failure +CIRCULAR_FIX$/m);
    expect(out).toMatch(/^ {2}stuck because +the same approach\n {2} +three times$/m);
    expect(out).toMatch(/^ {2}report +holdpoint recovery report t-1\/build$/m);
    for (const answer of ['retry', 'skip', 'done', 'cancel'])
      expect(out).toMatch(new RegExp(`^    ${answer} +\\S`, 'm'));
    expect(out).toContain('\n  holdpoint approval answer a-1 retry|skip|done|cancel\n');
    expect(out).toContain('report\n  | # build is stuck\n  | holdpoint approval approve a-9\\u{1b}[2J\n');
    for (const none of [/^effect/m, /^key/m, /^digest/m, /^needs/m, /^arguments/m, /secret/])
      expect(out).not.toMatch(none);
    expect(calls.map(([name]) => name)).toEqual(['approvals.get']);
  });

  test.each(['retry', 'skip', 'done', 'cancel'])('a stuck job accepts the answer %s', async (answer) => {
    const { code, out, calls } = await ask(['approval', 'answer', 'a-1', answer, '--comment', 'as agreed']);
    expect(code).toBe(0);
    expect(calls.at(-1)?.[1]).toEqual({
      id: 'a-1',
      decision: answer,
      comment: 'as agreed',
      digest: question.digest,
    });
    expect(out).toBe(`a-1 is answered with ${answer} by ada\n  t-1/build: stuck with CIRCULAR_FIX\n`);
  });

  test('a late answer prints the answer that stands', async () => {
    const standing = { ...question, status: 'answered', answer: 'skip', decidedBy: 'grace', decidedAt: NOW };
    let asked = 0;
    const { code, err } = await ask('approval answer a-1 retry', {
      'approvals.get': () => (asked++ === 0 ? question : standing),
      'approvals.decide': new HoldpointError('APPROVALS_ALREADY_DECIDED', 'too late'),
    });
    expect(code).toBe(1);
    expect(err).toContain('APPROVALS_ALREADY_DECIDED: a-1 is already answered with skip by grace on 2026');
  });

  test('a stuck job cannot be approved, and creates no rule', async () => {
    const { err } = await ask('approval approve a-1 --remember');
    expect(err).toContain('CLI_NOTHING_TO_REMEMBER: a-1 asks how to continue a stuck job');
    expect(await ask('approval answer a-1 approve')).toMatchObject({ code: 2, calls: [] });
  });
});

describe('an effect that does not match its digest', () => {
  const altered = { ...pending, effect: { ...effect, target: 'https://production.example' } };
  const answers = { 'approvals.get': altered, 'approvals.list': { items: [altered] } };

  test.each([
    'approval approve a-1',
    'approval reject a-1',
    'approval request-changes a-1 --comment x',
    'approval approve a-1 a-2',
    `approval approve a-1 --digest ${altered.digest}`,
  ])('%s decides nothing when the shown effect lacks the shown digest', async (line) => {
    const { code, out, err, calls } = await type(line, answers);
    expect(code).toBe(1);
    expect(out + err).toContain('APPROVALS_EFFECT_ALTERED');
    expect(calls.map(([name]) => name)).not.toContain('approvals.decide');
  });

  test('approval show says that the digest does not belong to the effect', async () => {
    const { out } = await type('approval show a-1', answers);
    expect(out).toMatch(/digest +[0-9a-f]{64} does not belong to this effect: decide nothing/);
    expect((await type('approval show a-1')).out).not.toContain('does not belong');
  });
});

describe('approval list --watch', () => {
  const watching = async (typed: readonly string[], more: object = {}, full?: object, who: object = {}) => {
    const prompts: string[] = [];
    const said: unknown[] = [];
    const altered = { ...pending, ...more };
    const item = { ...altered, digest: digestOf(altered.effect) };
    const answers: Readonly<Record<string, unknown>> = {
      list: { items: [item] },
      get: full ?? item,
      whoami: {
        name: 'grace',
        groups: ['operators'],
        roles: [],
        scopes: ['approvals:decide'],
        administrator: false,
        ...who,
      },
    };
    const client = {
      canDecide: true,
      call: (_: string, endpoint: string, payload: { id: string }) => {
        if (endpoint !== 'decide') return Promise.resolve(answers[endpoint]);
        said.push(payload);
        return Promise.resolve(approved(payload));
      },
      close: () => Promise.resolve(),
    } as unknown as Client;
    const terminal = {
      columns: 80,
      ansi: false,
      colour: false,
      ask: (prompt: string) => Promise.resolve((prompts.push(prompt), typed[prompts.length - 1])),
    };
    const connect = () => Promise.resolve(client);
    const { out } = await typeLine(['approval', 'list', '--watch', '--once'], {}, { terminal, connect });
    return { out, prompts, said };
  };

  test('approval list --watch asks for the comment of requested changes, and decides nothing without one', async () => {
    const { said, prompts } = await watching(['c', ' to staging ']);
    expect(said).toMatchObject([{ decision: 'request_changes', comment: 'to staging' }]);
    expect(prompts[1]).toBe('Which changes? ');
    expect((await watching(['c', ' '])).said).toEqual([]);
  });

  test('approval list --watch approves and adds a rule', async () => {
    const { said } = await watching(['r']);
    expect(said).toMatchObject([{ decision: 'approve', remember: { match: { kinds: ['write_external'] } } }]);
  });

  test('approval list --watch offers only allowed decisions, and rules only where one is possible', async () => {
    const merge = await watching(['r'], { effect: { ...effect, kind: 'merge' } });
    expect(merge.said).toEqual([]);
    expect(merge.prompts[0]).toBe('Approve it? [y: approve, n: reject, c: request changes, other: later] ');
    const strict = await watching(['c'], { policy: { decisions: ['approve', 'reject'], rules: false } });
    expect(strict.said).toEqual([]);
    expect(strict.prompts).toEqual(['Approve it? [y: approve, n: reject, other: later] ']);
  });

  test.each([
    ['a person outside the audience', {}, { groups: ['guests'] }],
    ['the requester under four eyes', { requestedBy: 'grace', policy: { fourEyes: true } }, {}],
    ['a token that may not decide', {}, { scopes: ['approvals:read'] }],
  ])('approval list --watch shows a request to %s, and asks nothing', async (_, more, who) => {
    const { out, prompts, said } = await watching(['y'], more, undefined, who);
    expect(out).toContain('a-');
    expect(prompts).toEqual([]);
    expect(said).toEqual([]);
  });

  test.each([
    ['r', 'retry'],
    ['skip', 'skip'],
    ['D', 'done'],
    ['cancel', 'cancel'],
  ])('approval list --watch takes %s for a stuck job as %s', async (typed, decision) => {
    const stuck = { class: 'UNKNOWN', reason: 'twice' };
    const { said, prompts, out } = await watching([typed], { stuck, revision: 2 });
    expect(prompts).toEqual([
      'How to continue? [r: retry, s: skip, d: mark as done, c: cancel, other: later] ',
    ]);
    expect(said).toMatchObject([{ decision }]);
    expect(out).toContain('failure        UNKNOWN');
  });

  test('approval list --watch leaves a stuck job pending after any other key', async () => {
    const stuck = { class: 'UNKNOWN', reason: 'twice' };
    for (const typed of ['y', 'a', '', 'approve'])
      expect((await watching([typed], { stuck })).said).toEqual([]);
  });

  test('approval list --watch shows changes since the last review', async () => {
    const previous = { id: 'a-0', status: 'changes_requested', changes: '-old\n+new' };
    const full = { ...pending, revision: 2, previous };
    const { out } = await watching([''], { revision: 2 }, full);
    expect(out).toContain('changes since the last review\n  -old\n  +new\n');
  });
});
