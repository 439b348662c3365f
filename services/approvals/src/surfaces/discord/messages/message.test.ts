import { choicesOf } from '@holdpoint/contracts/approval/question';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pending } from '../../../approval/state.ts';
import { REQUESTED_AT, DEADLINE, DOUBT, effectOf, requestFor, STUCK } from '../../../../testing/requests.ts';
import { parseCustomId } from './custom-id.ts';
import { messageOf } from './message.ts';

const TOKEN = '0e9b2c5a-8f0e-4d53-9c57-6f6a8f1f4d11';

const pending = (change: Parameters<typeof requestFor>[1] = {}): Pending => {
  const request = requestFor('hello', change);
  return {
    status: 'pending',
    request,
    requestedAt: REQUESTED_AT,
    expiresAt: DEADLINE,
    audience: request.audience,
    votes: [],
    reminders: 0,
    steps: 0,
    notified: [],
    refused: [],
  };
};

const only = (state: Parameters<typeof messageOf>[0]) => {
  const message = messageOf(state, TOKEN);
  const [embed] = message.embeds;
  if (embed === undefined) throw new Error('there is no embed');
  return { ...message, embed };
};

test('a message names the entries of the policy floor and the demands that it raised', () => {
  const state = pending({ policy: { quorum: 2 } });
  const asked = { audience: ['operators'], timeoutMs: state.request.timeoutMs };
  const floor = {
    digest: 'a'.repeat(64),
    entries: ['production'],
    raised: ['quorum' as const, 'fourEyes' as const],
    asked,
  };
  const { embed } = only({ ...state, request: { ...state.request, floor } });
  expect(embed.fields.find(({ name }) => name === 'Policy')?.value).toBe(
    'production; raised the quorum from 1 to 2, four eyes',
  );
});

test('a message shows the criteria, reviews, artifact, key and rollback hint of its task', () => {
  const facts = {
    goal: 'Greet the reader',
    acceptanceCriteria: ['it is short', 'it is kind'],
    phase: 'awaiting_approval',
    attempt: 2,
    reviews: {
      spec: { kind: 'spec' as const, verdict: 'passed' as const, summary: '*as agreed*', by: 'grace' },
    },
  };
  const { embed } = only(pending({ facts }));
  const task = embed.fields.find(({ name }) => name === 'Task')?.value ?? '';
  expect(task.split('\n')).toEqual([
    'goal: Greet the reader',
    expect.stringMatching(/^key: /) as string,
    expect.stringMatching(/^phase: awaiting.*approval, attempt 2$/) as string,
    expect.stringMatching(/^acceptance criteria: 1.* it is short 2.* it is kind$/) as string,
    expect.stringMatching(/^spec review: passed by grace.*: .*as agreed.*$/) as string,
    'quality review: none',
    'artifact: none',
    'rollback hint: none provided',
  ]);
  const long = 'x*'.repeat(2_000);
  const large = only(
    pending({
      facts: {
        ...facts,
        goal: long,
        acceptanceCriteria: [long],
        rollbackHint: long,
        reviews: { quality: { kind: 'quality', verdict: 'failed', summary: long, by: long.slice(0, 200) } },
      },
    }),
  );
  for (const { value } of large.embed.fields) expect(value.length).toBeLessThanOrEqual(1_024);
});

describe('large messages', () => {
  const long = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 40 })
    .chain((part) => fc.integer({ min: 1, max: 400 }).map((times) => part.repeat(times)));

  test('a message stays within Discord’s limits', () => {
    fc.assert(
      fc.property(long, long, long, fc.boolean(), fc.boolean(), (body, target, comment, isOver, isStuck) => {
        const state = pending({
          body: body.slice(0, 32_768),
          title: body.slice(0, 500),
          requestedBy: target.slice(0, 200),
          audience: Array.from({ length: 50 }, (_, i) => `user:${target.slice(0, 190)}${String(i)}`),
          effect: { ...effectOf(body), target, args: { [target]: body } },
          gate: comment.slice(0, 140),
          ...(isStuck
            ? { stuck: { class: 'UNKNOWN', reason: comment.slice(0, 2_000) } }
            : { inDoubt: { epoch: 1, reason: comment.slice(0, 2_000) } }),
          policy: { quorum: 20 },
        });
        const votes = Array.from({ length: 20 }, (_, i) => ({
          by: `${comment.slice(0, 100)}${String(i)}`,
          decision: 'approve' as const,
          at: REQUESTED_AT,
        }));
        const { embed } = only(
          isOver
            ? {
                ...state,
                status: 'closed',
                decided: { outcome: 'approved', by: target, comment, votes, at: REQUESTED_AT },
              }
            : { ...state, votes },
        );
        const texts = [embed.title, embed.description, embed.footer.text];
        const all = [...texts, ...embed.fields.flatMap(({ name, value }) => [name, value])];
        expect(all.join('').length).toBeLessThanOrEqual(6_000);
        expect(all.filter((text) => text.trim() === '')).toEqual([]);
        expect(embed.title.length).toBeLessThanOrEqual(256);
        expect(embed.description.length).toBeLessThanOrEqual(4_096);
        for (const { value } of embed.fields) expect(value.length).toBeLessThanOrEqual(1_024);
      }),
    );
  });

  test('cut text and arguments share the room and name the command that shows all', () => {
    const { embed } = only(
      pending({ body: 'b'.repeat(9_000), effect: { ...effectOf('x'), args: { a: 'a'.repeat(9_000) } } }),
    );
    expect(embed.description).toMatch(/b{1000}/);
    expect(embed.description).toMatch(/a{1000}/);
    expect(embed.description.match(/cut; all of it: `holdpoint approval show a-1`/g)).toHaveLength(2);
  });
});

describe('a stuck job', () => {
  const stuck = { class: 'CIRCULAR_FIX', reason: 'the same *three* times' } as const;

  test('a stuck job is shown with its reason and as much of its report as fits', () => {
    const { embed } = only(pending({ stuck, body: `# Report\n${'r'.repeat(31_000)}` }));
    expect(embed.title).toMatch(/^A job is stuck: /);
    expect(embed.description).toContain(String.raw`The job is stuck: the same \*three\* times`);
    expect(embed.description).toContain(String.raw`> \# Report`);
    expect(embed.description).toMatch(/r{3000}/);
    expect(embed.description).toMatch(/cut; all of it: `holdpoint recovery report t-1\/append`\)$/);
    const fields = Object.fromEntries(embed.fields.map(({ name, value }) => [name, value]));
    expect(fields).toMatchObject({ Failure: String.raw`CIRCULAR\_FIX`, Step: String.raw`t\-1/append` });
    expect(Object.keys(fields)).not.toContain('Target');
  });

  test('a stuck job without a report shows its reason', () => {
    expect(only(pending({ stuck })).embed.description).toMatch(/^The job is stuck: .*times$/);
  });
});

describe('buttons', () => {
  const labels = (change: Parameters<typeof requestFor>[1]): readonly string[][] =>
    only(pending(change)).components.map(({ components }) => components.map(({ label }) => label));

  test('buttons are those that the policy allows', () => {
    expect(labels({ policy: { decisions: ['approve', 'reject'], rules: false } })).toEqual([
      ['Approve', 'Reject'],
      ['Reject with reason…'],
    ]);
    expect(labels({ policy: { decisions: ['request_changes'] } })).toEqual([['Request changes…']]);
  });

  test('buttons of a question are its answers', () => {
    expect(labels({ stuck: { class: 'UNKNOWN', reason: 'twice' } })).toEqual([
      ['Try again', 'Skip', 'Mark as done', 'Cancel'],
    ]);
    expect(labels({ inDoubt: { epoch: 1, reason: 'lost' } })).toEqual([
      ['It happened', 'It did not happen', 'Do it again'],
    ]);
  });

  test('labels and texts fit the question', () => {
    for (const asked of [{}, { inDoubt: DOUBT }, { stuck: STUCK }]) {
      const { components } = only(pending(asked));
      const said = components.flatMap((row) =>
        row.components.map(({ custom_id: id }) => parseCustomId(id)?.press),
      );
      const choices = said.map((press) => (press !== undefined && 'choice' in press ? press.choice : press));
      expect(new Set(choices)).toEqual(new Set(choicesOf(asked)));
    }
  });

  test('a message without room for buttons says so', () => {
    const { components, embed } = only(
      pending({ id: 'a'.repeat(64) as ReturnType<typeof requestFor>['id'] }),
    );
    expect(components).toEqual([]);
    expect(embed.fields.find(({ name }) => name === 'Buttons')?.value).toContain('too long for buttons');
  });
});
