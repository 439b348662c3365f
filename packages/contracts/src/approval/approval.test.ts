import { describe, expect, test } from 'vitest';
import { BODY_MAX, DecideApproval, RequestApproval } from './commands.ts';
import { type Risk, riskOf } from './views.ts';
import { Surface } from './status.ts';
import { EffectClass, SideEffectKind } from '../workflow/side-effect.ts';
import { effectDigest } from '../effect/canonical-effect.ts';
import { approvalIdOf, effectIdOf, NodeId, TaskId } from '../values/ids.ts';

const CLASSES = EffectClass.options;
const KINDS = [...SideEffectKind.options, 'work'] as const;

describe('the risk of an effect', () => {
  const table: Readonly<Record<(typeof KINDS)[number], readonly [otherwise: Risk, opaque: Risk]>> = {
    deploy: ['high', 'high'],
    merge: ['high', 'high'],
    destructive_edit: ['high', 'high'],
    write_external: ['medium', 'high'],
    notify: ['low', 'medium'],
    other: ['low', 'medium'],
    work: ['low', 'medium'],
  };
  test.each(KINDS)('the risk of %s follows from its kind and class', (kind) => {
    for (const effectClass of CLASSES)
      expect(riskOf({ kind, effectClass })).toBe(table[kind][effectClass === 'opaque' ? 1 : 0]);
  });
});

describe('a request', () => {
  const task = TaskId.parse('t-1');
  const node = NodeId.parse('append');
  const effect = {
    task,
    node,
    uses: 'cap.file.append',
    args: {},
    kind: 'write_external',
    effectClass: 'keyed',
    target: 'file:x',
    idempotencyKey: 'k',
  } as const;
  const request = {
    id: approvalIdOf(task, node, 1),
    task,
    node,
    revision: 1,
    effectId: effectIdOf(task, node, 'k'),
    effect,
    digest: effectDigest(effect),
    title: 'append',
    requestedBy: 'ada',
    audience: ['operators'],
    timeoutMs: 60_000,
  };

  test('a request of an earlier version, without policy, gate and workflow, is valid', () => {
    expect(RequestApproval.parse(request)).toEqual(request);
  });

  test('the body of a request has a maximum length', () => {
    expect(RequestApproval.safeParse({ ...request, body: 'x'.repeat(BODY_MAX) }).success).toBe(true);
    expect(RequestApproval.safeParse({ ...request, body: 'x'.repeat(BODY_MAX + 1) }).success).toBe(false);
  });

  test('a request names an audience or none, and no malformed name', () => {
    expect(RequestApproval.safeParse({ ...request, audience: [] }).success).toBe(true);
    for (const audience of [[''], ['user:'], ['a,b']])
      expect(RequestApproval.safeParse({ ...request, audience }).success).toBe(false);
  });
});

test('a decision contains neither its decider nor its surface', () => {
  const said = { id: 'a-1', decision: 'approve', by: 'root', surface: 'web', principal: 'root' };
  expect(DecideApproval.parse(said)).toEqual({ id: 'a-1', decision: 'approve' });
});

test('decisions without a person have their own surfaces', () => {
  expect(Surface.options).toEqual(expect.arrayContaining(['rule', 'clock']));
});
