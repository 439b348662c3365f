import { describe, expect, test } from 'vitest';
import { Choice } from './commands.ts';
import { answerIn, ASKS, choicesOf, policyOf, type Question, questionOf, reportCommand } from './question.ts';
import { jobOf, NodeId, TaskId } from '../values/ids.ts';

const doubt = { epoch: 1, reason: 'lost' };
const stuck = { class: 'UNKNOWN', reason: 'nobody knows' } as const;
const input = { kind: 'approval' } as const;
const policy = {
  decisions: ['approve' as const],
  quorum: 3,
  fourEyes: true,
  veto: false,
  onExpiry: 'reject' as const,
  remindMs: [1_000],
  handOn: [{ afterMs: 1_000, audience: ['role:lead'] }],
};

describe('what is asked', () => {
  test.each<[Question, Parameters<typeof choicesOf>[0], readonly Choice[]]>([
    ['effect', {}, ['approve', 'reject', 'request_changes']],
    ['effect', { policy }, ['approve']],
    ['in_doubt', { inDoubt: doubt, policy }, ['applied', 'not_applied', 'retry']],
    ['stuck', { stuck, policy }, ['retry', 'skip', 'done', 'cancel']],
    ['input', { input, policy }, ['respond']],
  ])('is told by what stands in the request, and leaves open what fits: %s', (question, asked, choices) => {
    expect(questionOf(asked)).toBe(question);
    expect(choicesOf(asked)).toEqual(choices);
    expect(ASKS[question]).not.toBe('');
  });

  test('every choice decides on an effect, answers a question, or responds to a workflow', () => {
    const answers = Choice.options.filter((choice) => answerIn(choice) !== undefined);
    expect(answers.toSorted()).toEqual(
      ['applied', 'not_applied', 'retry', 'skip', 'done', 'cancel'].toSorted(),
    );
    const all = [{}, { inDoubt: doubt }, { stuck }, { input }].flatMap((asked) => choicesOf(asked));
    expect(new Set(all)).toEqual(new Set(Choice.options));
  });

  test('the report command names the job', () => {
    expect(reportCommand(jobOf(TaskId.parse('t-1'), NodeId.parse('build')))).toBe(
      'holdpoint recovery report t-1/build',
    );
  });
});

describe('a policy', () => {
  test('the default policy needs one person, with all decisions', () => {
    expect(policyOf({})).toEqual({
      decisions: ['approve', 'reject', 'request_changes'],
      quorum: 1,
      fourEyes: false,
      veto: true,
      onExpiry: 'expire',
      remindMs: [3_600_000, 86_400_000],
      handOn: [],
      rules: true,
    });
  });

  test('a policy applies to effects unchanged', () => {
    expect(policyOf({ policy: { ...policy, rules: false } })).toEqual({ ...policy, rules: false });
  });

  test.each([{ inDoubt: doubt }, { stuck }, { input }])(
    'names the audience of a question and its quorum: %j',
    (asked) => {
      expect(policyOf({ policy, ...asked })).toMatchObject({
        quorum: 1,
        veto: true,
        onExpiry: 'expire',
        rules: false,
        fourEyes: true,
        remindMs: policy.remindMs,
        handOn: policy.handOn,
      });
    },
  );
});
