import { type KeyObject, sign } from 'node:crypto';
import { canonicalJson } from '../values/json.ts';
import type { WebhookEvent } from '../webhook/event.ts';
import { type SignedWebhook, webhookHeaders } from '../webhook/signature.ts';
import { callbackIdOf, effectIdOf, NodeId, TaskId } from '../values/ids.ts';
import { APPROVALS, STRANGER } from './vector-keys.ts';

/** 1 January 2026, in epoch seconds. */
const NOW = 1_767_225_600;

const TASK = TaskId.parse('t-000000000001');
const event: WebhookEvent = {
  type: 'effect.applied',
  version: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
  data: {
    id: TASK,
    effect: effectIdOf(TASK, NodeId.parse('effect'), 'refund:ch_1'),
    capability: 'refund',
    key: 'refund:ch_1',
    state: 'applied',
    outputs: { refund: 're_1', note: 'é😀' },
  },
};
const webhook: SignedWebhook = {
  id: callbackIdOf(TASK, 7),
  timestamp: NOW,
  body: canonicalJson(event),
};

const headersBy = (key: KeyObject, signed: SignedWebhook = webhook): Readonly<Record<string, string>> =>
  webhookHeaders(signed, (text) => sign(null, text, key));

const headers = headersBy(APPROVALS);
const signature = headers['webhook-signature'] ?? '';
const other = headersBy(STRANGER)['webhook-signature'] ?? '';
const later = { ...webhook, body: canonicalJson({ ...event, version: 2 }) };

const INVALID = 'WEBHOOK_SIGNATURE_INVALID';
const valid = { headers, body: webhook.body, now: NOW * 1_000, code: null };

export const webhookVectors = () => [
  { name: 'a valid webhook', ...valid },
  {
    name: 'a second signature that is valid',
    ...valid,
    headers: { ...headers, 'webhook-signature': `v1,AAAA ${other} ${signature}` },
  },
  { name: 'five minutes late', ...valid, now: (NOW + 300) * 1_000 },
  { name: 'more than five minutes late', ...valid, now: (NOW + 301) * 1_000, code: INVALID },
  { name: 'more than five minutes early', ...valid, now: (NOW - 301) * 1_000, code: INVALID },
  { name: 'another body', ...valid, body: `${webhook.body} `, code: INVALID },
  {
    name: 'another id',
    ...valid,
    headers: { ...headers, 'webhook-id': callbackIdOf(TASK, 8) },
    code: INVALID,
  },
  {
    name: 'another time',
    ...valid,
    headers: { ...headers, 'webhook-timestamp': String(NOW + 1) },
    code: INVALID,
  },
  { name: 'the signature of a stranger', ...valid, headers: headersBy(STRANGER), code: INVALID },
  {
    name: 'a symmetric signature',
    ...valid,
    headers: { ...headers, 'webhook-signature': signature.replace('v1a,', 'v1,') },
    code: INVALID,
  },
  { name: 'no headers', ...valid, headers: {}, code: INVALID },
  {
    name: 'a later version',
    ...valid,
    headers: headersBy(APPROVALS, later),
    body: later.body,
    code: 'CONTRACT_INVALID',
  },
];
