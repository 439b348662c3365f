import { generateKeyPairSync } from 'node:crypto';
import type { CancelApproval, RequestApproval } from '@holdpoint/contracts/approval';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect';
import { ApprovalId, effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/ids';
import { createSigner, createVerifier } from '@holdpoint/runtime/jws';
import { createApprovalDecider, type Principal } from '../domain/approval.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

/** The decider as the service runs it, with a key of its own, and the verifier that belongs to it. */
export const decider = createApprovalDecider(createSigner(privateKey));
export const verify = createVerifier([publicKey]);

export const TASK = TaskId.parse('t-1');
export const NODE = NodeId.parse('append');
export const APPROVAL = ApprovalId.parse('a-1');
export const TIMEOUT_MS = 60_000;
/** When the request of these tests was made, and the moment from which it counts as expired. */
export const ASKED = 1_000_000;
export const DEADLINE = ASKED + TIMEOUT_MS;

export const ada: Principal = { name: 'ada', groups: ['operators'] };
export const grace: Principal = { name: 'grace', groups: ['auditors', 'operators'] };
export const mallory: Principal = { name: 'mallory', groups: ['guests'] };

export const effectOf = (line: string): CanonicalEffect => ({
  task: TASK,
  node: NODE,
  uses: 'cap.file.append',
  args: { file: 'sample.txt', line },
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'file:sample.txt',
  idempotencyKey: 'append:sample.txt',
});

/** A request as the orchestrator makes it, for the effect that appends this line. */
export const requestFor = (line = 'hello', change: Partial<RequestApproval> = {}): RequestApproval => {
  const effect = effectOf(line);
  return {
    id: APPROVAL,
    task: TASK,
    node: NODE,
    revision: 1,
    effectId: effectIdOf(TASK, NODE, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    title: 'append a line',
    requestedBy: 'linus',
    audience: ['operators'],
    timeoutMs: TIMEOUT_MS,
    ...change,
  };
};

/** The cancellation of that request, with all that it takes to remember it. */
export const cancellation: CancelApproval = {
  id: APPROVAL,
  task: TASK,
  node: NODE,
  revision: 1,
  reason: 'task cancelled',
};

/** The event that a request leads to. */
export const requested = { type: 'requested', ...requestFor(), expiresAt: DEADLINE } as const;
/** What a resolution says beside its outcome. */
export const resolvedHead = { type: 'resolved', id: APPROVAL, task: TASK, node: NODE, revision: 1 } as const;

/** The doubt that is asked about, and the request that asks. */
export const DOUBT = { epoch: 4, reason: 'the worker was lost' } as const;
export const questionFor = (change: Partial<RequestApproval> = {}): RequestApproval =>
  requestFor('hello', { title: 'Did it happen? append a line', doubt: DOUBT, ...change });
/** The event that such a request leads to. */
export const questioned = { type: 'requested', ...questionFor(), expiresAt: DEADLINE } as const;
