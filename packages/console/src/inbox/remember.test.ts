import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { expect, test } from 'vitest';
import { canRemember, ruleFrom } from './remember.ts';

const approval = (rest: object = {}, kind = 'notify'): ApprovalView =>
  ({
    effect: {
      kind,
      uses: 'cap.notify.slack',
      target: 'notify:BUILDS',
      args: { webhook: '${secret:BUILDS}' },
    },
    requestedBy: 'ada',
    workflow: 'shop',
    ...rest,
  }) as unknown as ApprovalView;

test('a rule built from a request approves it, and the service accepts the rule', () => {
  const spec = ruleFrom(approval(), 'notify:*', 7);
  expect(spec).toMatchObject({
    match: { kinds: ['notify'], target: 'notify:*', workflow: 'shop' },
    expiresInMs: 604_800_000,
  });
  expect(RuleSpec.safeParse(spec).success).toBe(true);
});

test('a target that does not match yields no rule', () => {
  expect(ruleFrom(approval(), 'notify:OTHER')).toBeUndefined();
});

test.each([
  ['a merge', approval({}, 'merge')],
  ['a gate without rules', approval({ policy: { rules: false } })],
  ['a quorum', approval({ policy: { quorum: 2 } })],
  ['a question', approval({ inDoubt: { epoch: 1, reason: 'x' } })],
])('%s yields no rule', (_, request) => {
  expect(canRemember(request)).toBe(false);
});
