import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { describe, expect, test } from 'vitest';
import type { Client } from '../bus/client.ts';
import { watchApprovals } from './watch.ts';
import { createSession } from '../kit/session.ts';
import { type Answers, NOW, typeLine } from '../../testing/terminal.ts';

const EXAMPLES = join(import.meta.dirname, '../../../contracts/examples/api');
const example = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(EXAMPLES, `${name}.response.json`), 'utf8')) as Record<string, unknown>;

const EFFECT = 'e-74c6ad9rnk5b0qxm';
const question = {
  ...example('approvals.get'),
  id: 'a-2',
  status: 'pending',
  expiresAt: NOW + 1_000,
  answer: undefined,
  decidedBy: undefined,
  decidedAt: undefined,
  comment: undefined,
  stuck: undefined,
  input: undefined,
  response: undefined,
};
const request = { ...question, id: 'a-1', inDoubt: undefined };
const ordered = {
  version: 3,
  at: Date.UTC(2026, 0, 15, 9, 30),
  type: 'effect_ordered',
  data: {
    type: 'effect_ordered',
    id: 't-hmd6mtstfwhc',
    phase: 'executing',
    node: 'append',
    attempt: 1,
    effectId: EFFECT,
    approval: 'a-1',
    grant: 'granted',
    validUntil: 1,
  },
};
const services: Answers = {
  'approvals.get': question,
  'approvals.list': { items: [request, question] },
  'approvals.decide': { id: 'a-2', status: 'answered', by: 'ada' },
  'orchestrator.history': { events: [ordered] },
  'executor.get': example('executor.get'),
};
const type = (line: string, answers: Answers = services) => typeLine(line.split(' '), answers);

describe('a question about an in-doubt effect', () => {
  test('a list marks a question about an in-doubt effect', async () => {
    const { out } = await type('approval list');
    expect(out).toMatch(/^a-1 .*may it run\?/m);
    expect(out).toMatch(/^a-2 .*did it happen\?/m);
  });

  test('an in-doubt question shows the effect, its time, the reason and the consequence of each answer', async () => {
    const { out } = await type('approval show a-2');
    expect(out).toContain('did it happen?');
    expect(out).toMatch(/effect +cap\.file\.append/);
    expect(out).toMatch(/on +file:greetings\.txt/);
    expect(out).toMatch(/ordered +2026-01-15 09:30:00Z/);
    expect(out).toMatch(/unknown because +worker executor-1 was not heard of/);
    for (const answer of ['applied', 'not_applied', 'retry'])
      expect(out).toMatch(new RegExp(`^    ${answer} +\\S`, 'm'));
    expect(out).toContain('holdpoint approval answer a-2 applied|not_applied|retry');
  });

  test('an in-doubt question of an unknown task is shown without the time of its order', async () => {
    const gone = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'gone');
    const { code, out } = await type('approval show a-2', { ...services, 'orchestrator.history': gone });
    expect(code).toBe(0);
    expect(out).not.toMatch(/^ +ordered/m);
  });

  test.each(['applied', 'not_applied', 'retry'])(
    '%s answers an in-doubt question, by its ID or the ID of its effect',
    async (answer) => {
      for (const line of [`approval answer a-2 ${answer}`, `approval answer ${EFFECT} ${answer}`]) {
        const { out, calls } = await typeLine([...line.split(' '), '--comment', 'I looked'], services);
        expect(calls.at(-1)).toEqual([
          'approvals.decide',
          { id: 'a-2', decision: answer, digest: question['digest' as never], comment: 'I looked' },
        ]);
        expect(out).toContain(`a-2 is answered with ${answer} by ada`);
      }
    },
  );

  test('an in-doubt question refuses other answers', async () => {
    for (const line of ['approval answer a-2 approve', `approval answer ${EFFECT} maybe`]) {
      const { code, calls } = await type(line);
      expect({ code, calls }).toEqual({ code: 2, calls: [] });
    }
  });

  test('an effect without an open question cannot be answered', async () => {
    const { code, err } = await type(`approval answer ${EFFECT} applied`, {
      ...services,
      'approvals.list': { items: [request] },
    });
    expect(code).not.toBe(0);
    expect(err).toContain('CLI_NOTHING_TO_DECIDE');
  });

  test('a question is found on a later page', async () => {
    const pages = (asked: unknown) =>
      (asked as { after?: string }).after === 'p2' ? { items: [question] } : { items: [request], next: 'p2' };
    const { code } = await type(`approval answer ${EFFECT} retry`, { ...services, 'approvals.list': pages });
    expect(code).toBe(0);
  });
});

test('effect show prints the reason, the duplicates and the answer of an in-doubt effect', async () => {
  const gone = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'unknown task');
  const { out } = await type(`effect show ${EFFECT}`, {
    ...services,
    'executor.order': gone,
    'orchestrator.history': gone,
  });
  expect(out).toMatch(/state +in doubt \(2 starts\)/);
  expect(out).toMatch(/next +an operator answers/);
  expect(out).toMatch(/cause +worker lost/);
  expect(out).toMatch(/prevented +1 duplicates/);
  expect(out).toMatch(/answer +retry by operator/);
});

describe('approval list --watch', () => {
  const watched = async (typed: readonly (string | undefined)[], canDecide = true) => {
    const decided: unknown[] = [];
    const prompts: string[] = [];
    let out = '';
    const client = {
      canDecide,
      call: async (_: string, endpoint: string, payload: unknown) => {
        if (endpoint === 'list') return services['approvals.list'];
        if (endpoint === 'whoami')
          return { name: 'grace', groups: ['operators'], roles: [], scopes: ['approvals:decide'] };
        decided.push(payload);
        const { id, decision } = payload as { id: string; decision: string };
        return { id, status: decision === 'approve' ? 'approved' : 'answered', by: 'ada' };
      },
    } as unknown as Client;
    const terminal = {
      columns: 80,
      ansi: false,
      colour: false,
      ask: async (prompt: string) => (prompts.push(prompt), typed[prompts.length - 1]),
    };
    const { session } = createSession(
      {
        connect: () => Promise.resolve(client),
        out: (text) => (out += text),
        err: () => undefined,
        now: () => NOW,
        terminal,
      },
      [],
      () => false,
    );
    await watchApprovals(client, session, { once: true });
    return { out, prompts, decided: decided.map((each) => (each as { decision: string }).decision) };
  };

  test.each([
    ['y', 'a', ['approve', 'applied']],
    ['n', 'n', ['reject', 'not_applied']],
    ['', 'r', ['retry']],
    ['a', 'y', []],
    [undefined, 'constructor', []],
  ])(
    'approval list --watch takes %s for a request and %s for an in-doubt question',
    async (first, second, decisions) => {
      const { decided, prompts } = await watched([first, second]);
      expect(decided).toEqual(decisions);
      expect(prompts.map((prompt) => prompt.split('?')[0])).toEqual(['Approve it', 'Did it happen']);
    },
  );

  test('approval list --watch does not ask without a token', async () => {
    const { out, prompts } = await watched([], false);
    expect(prompts).toEqual([]);
    expect(out).toContain('did it happen?');
  });
});
