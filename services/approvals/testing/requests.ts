import { generateKeyPairSync } from 'node:crypto';
import type {
  CancelApproval,
  Choice,
  DecideApproval,
  RequestApproval,
} from '@holdpoint/contracts/approval/commands';
import type { Surface } from '@holdpoint/contracts/approval/status';
import type { ApprovalPolicy } from '@holdpoint/contracts/workflow/approval-policy';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import {
  ApprovalId,
  effectIdOf,
  NodeId,
  type RuleId,
  ruleIdOf,
  TaskId,
} from '@holdpoint/contracts/values/ids';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import type { Json } from '@holdpoint/contracts/values/json';
import type { RuleEvent, RuleMatch, RuleSpec } from '@holdpoint/contracts/approval/standing-rule';
import { createSigner, createVerifier } from '@holdpoint/runtime/service/jws';
import { createApprovalDecider } from '../src/approval/decide.ts';
import type { AdmittedRequest, ApprovalMessage, Principal } from '../src/approval/state.ts';
import { applyFloor } from '../src/policy/apply-floor.ts';
import { DEFAULT_FLOOR } from '../src/policy/default-floor.ts';
import { createAuditDecider } from '../src/audit/audit-log.ts';
import { createRuleDecider } from '../src/rule/decide.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');

/** The service's decider with a test key, and the matching verifier. */
export const decider = createApprovalDecider(createSigner(privateKey));
export const verify = createVerifier([publicKey]);
/** Surfaces of the deciders below. */
export const SURFACES: readonly Surface[] = ['discord', 'websocket'];
/** The same with surfaces. */
export const withSurfaces = createApprovalDecider(createSigner(privateKey), { surfaces: SURFACES });
export const rules = createRuleDecider();
export const audit = createAuditDecider(createSigner(privateKey));

/** The deciders without the built-in rule. */
export const withoutRollbackRule = {
  approvals: createApprovalDecider(createSigner(privateKey), { rollbackRule: false }),
  rules: createRuleDecider({ rollbackRule: false }),
};

export const TASK = TaskId.parse('t-1');
export const NODE = NodeId.parse('append');
export const APPROVAL = ApprovalId.parse('a-1');
export const TIMEOUT_MS = 60_000;
/** Time of the test request, and the time when it expires. */
export const REQUESTED_AT = 1_000_000;
export const DEADLINE = REQUESTED_AT + TIMEOUT_MS;

export const ada: Principal = { name: 'ada', groups: ['operators'] };
export const grace: Principal = { name: 'grace', groups: ['auditors', 'operators'] };
export const barbara: Principal = { name: 'barbara', groups: ['operators'], roles: ['release-manager'] };
/** The requester of the effect, who may decide on others. */
export const linus: Principal = { name: 'linus', groups: ['operators'] };
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

/** The orchestrator's request for an effect that appends this line. */
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

/** The cancellation of that request, complete enough to be remembered. */
export const cancellation: CancelApproval = {
  id: APPROVAL,
  task: TASK,
  node: NODE,
  revision: 1,
  reason: 'task cancelled',
};

/** The request under the built-in policy floor, as the service records it. */
export const admitted = (payload: RequestApproval): AdmittedRequest => applyFloor(payload, DEFAULT_FLOOR);

export const requested = { type: 'requested', ...admitted(requestFor()), expiresAt: DEADLINE } as const;
/** Fields of a resolution beside its outcome. */
export const resolvedHead = { type: 'resolved', id: APPROVAL, task: TASK, node: NODE, revision: 1 } as const;

/** The in-doubt effect, and the request about it. */
export const DOUBT = { epoch: 4, reason: 'the worker was lost' } as const;
export const questionFor = (change: Partial<RequestApproval> = {}): RequestApproval =>
  requestFor('hello', { title: 'Did it happen? append a line', inDoubt: DOUBT, ...change });
export const questioned = { type: 'requested', ...admitted(questionFor()), expiresAt: DEADLINE } as const;

/** A stuck job, and the request about it: its effect is only a name. */
export const STUCK = { class: 'CIRCULAR_FIX', reason: 'the same approach three times' } as const;
export const stuckFor = (change: Partial<RequestApproval> = {}): RequestApproval => {
  const effect: CanonicalEffect = {
    ...effectOf(''),
    uses: 'control.recover',
    args: {},
    kind: 'other',
    effectClass: 'idempotent',
    target: `job:${TASK}/${NODE}`,
    idempotencyKey: 'stuck:append',
  };
  return requestFor('', {
    effect,
    effectId: effectIdOf(TASK, NODE, effect.idempotencyKey),
    digest: effectDigest(effect),
    title: 'stuck: append a line',
    stuck: STUCK,
    body: '# append is stuck\n\nIt was tried three times.',
    ...change,
  });
};
export const stuckRequested = { type: 'requested', ...admitted(stuckFor()), expiresAt: DEADLINE } as const;

/** A program's input, and the request for it: its effect is only a name. */
export const FORM: Extract<InputRequest, { kind: 'form' }> = {
  kind: 'form',
  fields: [
    {
      type: 'choice',
      name: 'env',
      label: 'Where to?',
      required: true,
      options: [
        { value: 'test', label: 'The test system' },
        { value: 'prod', label: 'Production' },
      ],
    },
    { type: 'number', name: 'percent', required: true, integer: true, min: 1, max: 100 },
    { type: 'boolean', name: 'watched', required: false },
    { type: 'text', name: 'why', help: 'For the record.', required: false, multiline: true, maxLength: 500 },
  ],
};
export const CHOICE: Extract<InputRequest, { kind: 'choice' }> = {
  kind: 'choice',
  options: [
    { value: 'a', label: 'The first' },
    { value: 'b', label: 'The second' },
  ],
};
export const inputFor = (
  input: InputRequest = { kind: 'approval' },
  change: Partial<RequestApproval> = {},
): RequestApproval => {
  const effect: CanonicalEffect = {
    ...effectOf(''),
    uses: 'control.input',
    args: {},
    kind: 'other',
    effectClass: 'idempotent',
    target: `job:${TASK}/${NODE}`,
    idempotencyKey: 'input:1',
  };
  return requestFor('', {
    effect,
    effectId: effectIdOf(TASK, NODE, effect.idempotencyKey),
    digest: effectDigest(effect),
    title: 'Ship it?',
    input,
    ...change,
  });
};

/** A request to roll back the isolated worktree of a task. */
export const rollbackFor = (
  change: Partial<CanonicalEffect> = {},
  more: Partial<RequestApproval> = {},
): RequestApproval => {
  const worktree = '.holdpoint/worktrees/work-t-1-prepare';
  const effect: CanonicalEffect = {
    ...effectOf(''),
    uses: 'cap.env.builtin.git.rollback',
    args: { with: { isolated: true, worktree, commit: 'a'.repeat(40) }, context: { worktree } },
    kind: 'destructive_edit',
    effectClass: 'fenced',
    target: `worktree:${worktree}`,
    idempotencyKey: 'rollback:append.1',
    ...change,
  };
  return requestFor('', {
    effect,
    effectId: effectIdOf(TASK, NODE, effect.idempotencyKey),
    digest: effectDigest(effect),
    title: 'go back to the last good commit',
    rollbackOf: { task: TASK, node: NODE, attempt: 1, worktree },
    ...more,
  });
};

/** The same request with a policy. */
export const requestUnder = (
  policy: ApprovalPolicy,
  change: Partial<RequestApproval> = {},
): RequestApproval => requestFor('hello', { policy, ...change });
export const requestedBy = (payload: RequestApproval) =>
  ({ type: 'requested', ...admitted(payload), expiresAt: REQUESTED_AT + payload.timeoutMs }) as const;

export const decides = (
  by: Principal,
  decision: Choice,
  change: Partial<DecideApproval> = {},
  surface?: Surface,
): Extract<ApprovalMessage, { kind: 'decide' }> => ({
  kind: 'decide',
  by,
  payload: { id: APPROVAL, decision, ...change },
  ...(surface !== undefined && { surface }),
});
export const timer = (name: string, data: Json = null): ApprovalMessage => ({ kind: 'timer', name, data });

export const RULE: RuleId = ruleIdOf('ada', 'the rule of these tests');
export const OTHER_RULE: RuleId = ruleIdOf('ada', 'another rule of these tests');
/** A match that fits every request of `requestFor`. */
export const MATCH: RuleMatch = {
  kinds: ['write_external'],
  capability: 'cap.file.append',
  target: 'file:*',
};
export const specOf = (change: Partial<RuleSpec> = {}): RuleSpec => ({
  name: 'sample lines',
  match: MATCH,
  ...change,
});
type RuleAdded = Extract<RuleEvent, { type: 'rule_added' }>;
/** A rule that ada has added. */
export const ruleAdded = (change: Partial<RuleAdded> = {}): RuleAdded => ({
  type: 'rule_added',
  id: RULE,
  spec: specOf(),
  author: { name: 'ada', groups: ['operators'] },
  at: REQUESTED_AT - 1_000,
  ...change,
});
