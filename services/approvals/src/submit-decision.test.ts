import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { expect, test } from 'vitest';
import { createDecisionSubmitter } from './submit-decision.ts';

const ID = ApprovalId.parse('a-1');
const ada = { name: 'ada', groups: ['operators'] };

const submitter = () => {
  const accepted: unknown[] = [];
  const accept = (message: unknown): never => {
    accepted.push(message);
    throw new Error('the decision was passed on');
  };
  const decisions = createDecisionSubmitter({ accept }, () => true);
  return { decisions, accepted };
};

test.each(['cli', 'http', 'web', 'discord', 'api'] as const)(
  'a decision without a digest is refused on the surface %s, with the remedy',
  async (surface) => {
    const { decisions, accepted } = submitter();
    await expect(decisions.decide(ada, { id: ID, decision: 'approve' }, { surface })).rejects.toMatchObject({
      code: 'APPROVALS_DIGEST_REQUIRED',
      message: 'add "digest" with the digest of the effect, as the request shows it',
    });
    expect(accepted).toEqual([]);
  },
);

test('each of many decisions without a digest is refused by itself', async () => {
  const { decisions } = submitter();
  const answer = await decisions.decideMany(
    ada,
    { items: [{ id: ID }], decision: 'reject' },
    { surface: 'http' },
  );
  expect(answer.items).toMatchObject([{ id: ID, error: { code: 'APPROVALS_DIGEST_REQUIRED' } }]);
});
