import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { effectIdOf } from '@holdpoint/contracts/values/ids';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { expect, test } from 'vitest';
import {
  ada,
  decider,
  decides,
  effectOf,
  NODE,
  REQUESTED_AT,
  requestFor,
  TASK,
} from '../../testing/requests.ts';
import { approvalsBindings } from '../bindings.ts';
import type { Admission } from '../capability/admission.ts';
import { approvalView } from '../queries/requests.ts';
import type { ApprovalMessage } from './state.ts';

const effect = { ...effectOf('hello'), uses: 'cap.remote.refund', kind: 'notify' } as const;
const payload = requestFor('', {
  title: 'cap.remote.refund of a task',
  effect,
  effectId: effectIdOf(TASK, NODE, effect.idempotencyKey),
  digest: effectDigest(effect),
});
const words = { title: 'Refund 500 cents of ch_1', description: 'Pays back.', risk: 'high' } as const;

const runFor = (...messages: readonly ApprovalMessage[]) =>
  runOf(
    decider,
    messages.map((message, i) => ({ message, now: REQUESTED_AT + i })),
  );

test('a request for a remote effect shows the words of the registry and their risk', () => {
  const state = runFor({ kind: 'request', payload, words }).at(-1)?.after;
  if (state?.status !== 'pending') throw new Error('it is not pending');
  expect(approvalView(state)).toMatchObject({ ...words, digest: payload.digest });
});

test('the grant of a remote effect covers the registered effect under its digest', () => {
  const run = runFor({ kind: 'request', payload, words }, decides(ada, 'approve'));
  expect(eventsOf(run).at(-1)).toMatchObject({ outcome: 'approved', digest: payload.digest });
});

const decoded = (admission: Admission | 'later' | undefined, body: object = payload) => {
  const asked: string[] = [];
  const { inbound } = approvalsBindings({
    admission: ({ uses }, identity) => {
      asked.push(`${uses} ${identity}`);
      return admission;
    },
    unreachable: () => 'EXECUTOR_TARGET_NOT_ALLOWED: no',
  });
  const commands = inbound.find(({ consumer }) => consumer.name === 'approvals');
  return { asked, routed: commands?.decode('hp.cmd.approval.request', body, { identity: 'm-1' }) };
};

test('a request waits until the registry was read', () => {
  const { asked, routed } = decoded('later');
  expect(asked).toEqual(['cap.remote.refund m-1']);
  expect(routed).toMatchObject({ defer: true });
});

test('a request that does not agree with the registry is refused with its reason', () => {
  const { routed } = decoded({ refusal: 'APPROVALS_ARGUMENTS_INVALID: cents: is missing' });
  expect(routed?.message).toMatchObject({ refusal: 'APPROVALS_ARGUMENTS_INVALID: cents: is missing' });
  expect(routed?.defer).toBeUndefined();
});

test('a request of another effect is not looked up in the registry', () => {
  expect(decoded(undefined).routed?.message).toMatchObject({ refusal: 'EXECUTOR_TARGET_NOT_ALLOWED: no' });
});

test('a question about an effect in doubt is not looked up in the registry', () => {
  const doubt = { ...payload, inDoubt: { epoch: 1, reason: 'the claimant is silent' } };
  expect(decoded('later', doubt).asked).toEqual([]);
});
