import type { ExecutorReach } from '@holdpoint/contracts/approval/enrolment';
import { expect, test } from 'vitest';
import { unreachableBy } from './reach.ts';

const reach = (change: Partial<ExecutorReach> = {}): ExecutorReach => ({
  request: [],
  keyed: [],
  idempotent: [],
  notify: [],
  anyPublic: false,
  ...change,
});
const target = 'https://example.com';
/** An effect on an origin, with the target that its arguments give it. */
const effectOn = (uses: string, origin: string): Parameters<typeof unreachableBy>[0] => {
  if (uses === 'cap.notify.webhook')
    return { uses, target: `notify:${origin}`, args: { url: `${origin}/in` } };
  return uses.startsWith('cap.notify.')
    ? { uses, target: 'notify:HOOK', args: { webhook: '${secret:HOOK}', origin } }
    : { uses, target: origin, args: {} };
};

test.each([
  ['cap.http.request', 'HOLDPOINT_HTTP_TARGETS'],
  ['cap.http.keyed_request', 'HOLDPOINT_HTTP_KEYED_TARGETS'],
  ['cap.http.idempotent_request', 'HOLDPOINT_HTTP_IDEMPOTENT_TARGETS'],
  ['cap.notify.webhook', 'HOLDPOINT_NOTIFY_TARGETS'],
  ['cap.notify.discord', 'HOLDPOINT_NOTIFY_TARGETS'],
  ['cap.notify.slack', 'HOLDPOINT_NOTIFY_TARGETS'],
])('the refusal of a %s names the setting %s', (uses, setting) => {
  expect(unreachableBy(effectOn(uses, target), [reach(), reach()])).toBe(
    `EXECUTOR_TARGET_NOT_ALLOWED: add ${target} to ${setting} of the executor`,
  );
});

test.each([
  ['one of two executors lists it', 'cap.http.request', target, [reach(), reach({ request: [target] })]],
  ['its own list names it', 'cap.http.keyed_request', target, [reach({ keyed: [target] })]],
  ['every public host may be called', 'cap.http.request', target, [reach({ anyPublic: true })]],
  ['the list of notices names it', 'cap.notify.slack', target, [reach({ notify: [target] })]],
  ['the list of notices names its receiver', 'cap.notify.webhook', target, [reach({ notify: [target] })]],
  [
    'an executor of an earlier release does not announce notices',
    'cap.notify.slack',
    target,
    [reach({ notify: undefined })],
  ],
  ['an executor did not announce its settings', 'cap.http.request', target, [reach(), undefined]],
  ['no executor has enrolled yet', 'cap.http.request', target, []],
  ['another capability has no origins', 'cap.file.append', 'file:a', [reach()]],
])('a target is reachable when %s', (_, uses, on, reaches) => {
  expect(unreachableBy(effectOn(uses, on), reaches)).toBeUndefined();
});

test.each([
  ['another list names it', 'cap.http.request', target, { keyed: [target] }],
  ['only requests may call public hosts', 'cap.notify.slack', target, { anyPublic: true }],
  ['it has a port of its own', 'cap.http.request', `${target}:8443`, { anyPublic: true }],
  ['it is called without https', 'cap.http.request', 'http://example.com', { anyPublic: true }],
  [
    'only requests without a key may call public hosts',
    'cap.http.keyed_request',
    target,
    { anyPublic: true },
  ],
])('a target is unreachable when %s', (_, uses, on, change) => {
  expect(unreachableBy(effectOn(uses, on), [reach(change)])).toContain('EXECUTOR_TARGET_NOT_ALLOWED');
});
