import { type KeyObject, sign } from 'node:crypto';
import { filledIn, remoteTargetOf } from '../approval/capability.ts';
import { rawPublicKeyOf, signingKeyOf } from '../approval/signing-keys.ts';
import { type CanonicalEffect, effectDigest } from '../effect/canonical-effect.ts';
import type { CheckedOrder } from '../effect/check-grant.ts';
import type { RunEffect } from '../effect/commands.ts';
import { signed } from '../effect/remote.ts';
import { ApprovalId, effectIdOf, heldTaskIdOf, NodeId, TaskId } from '../values/ids.ts';
import { canonicalJson, digestOf, type Json } from '../values/json.ts';
import { keyIdOf } from '../values/jws.ts';
import { APPROVALS, CLAIMANT, NEXT, publicOf, STRANGER } from './vector-keys.ts';
import { webhookVectors } from './webhook-vectors.ts';

// Examples by which a claimant in another language proves that it computes and checks the same. All keys are for tests.

const jwsOf = (claims: object, key: KeyObject, header: object = {}): string => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const said = `${part({ alg: 'EdDSA', kid: keyIdOf(publicOf(key)), ...header })}.${part(claims)}`;
  return `${said}.${sign(null, Buffer.from(said), key).toString('base64url')}`;
};

const CANONICAL: readonly Json[] = [
  {},
  { b: 2, a: 1 },
  { text: 'line\nquote " backslash \\ tab \t é € 😀', empty: '' },
  { '\u20ac': 1, '\u{1f600}': 2, '\ufb33': 3, a: 4, '': 5 },
  { numbers: [0, -0, 1.0, 0.1, 1e21, 1e-7, 123456789012345, -1.5] },
  { nested: [{ z: null, y: [true, false] }, []] },
];

const TASK = TaskId.parse('t-000000000001');
/** A UUID of version 7, whose time ids begin with. */
const TIMED_KEY = '019b76da-a800-7000-8000-000000000001';
const TIMED_TASK = heldTaskIdOf('refund', TIMED_KEY);
const NODE = NodeId.parse('effect');
const APPROVAL = ApprovalId.parse('a-0000000001');

const EFFECT: CanonicalEffect = {
  task: TASK,
  node: NODE,
  uses: 'cap.remote.refund',
  args: { charge: 'ch_1', cents: 500 },
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'payments:ch_1',
  idempotencyKey: 'refund:ch_1',
};

/** 1 January 2026, and the grant of an hour that began then. */
const NOW = 1_767_225_600;
const HOUR = 3_600;

const ID = effectIdOf(TASK, NODE, EFFECT.idempotencyKey);
const DIGEST = effectDigest(EFFECT);
const CLAIMS = { jti: APPROVAL, sub: ID, digest: DIGEST, iat: NOW, exp: NOW + HOUR, by: 'ada' };

const orderOf = (changes: Partial<RunEffect> = {}): RunEffect => ({
  id: ID,
  attempt: 1,
  effect: EFFECT,
  digest: DIGEST,
  grant: jwsOf(CLAIMS, APPROVALS),
  approval: APPROVAL,
  ...changes,
});

type Grants = {
  readonly name: string;
  readonly code: string | null;
  readonly now?: number;
  readonly order?: Partial<RunEffect>;
  readonly without?: 'grant' | 'approval';
  readonly about?: Partial<Omit<CheckedOrder, 'order'>>;
};

const other = { ...EFFECT, args: { charge: 'ch_1', cents: 50_000 } };
const work = { ...EFFECT, kind: 'work' as const };
const preview = { ...work, uses: 'cap.remote.refund.preview' };
const builtIn = { ...EFFECT, uses: 'cap.http.request' };
const retry = { use: 'answer', ...CLAIMS, epoch: 1, answer: 'retry', exp: NOW + 3 * HOUR };
const signedFor = (effect: CanonicalEffect): Partial<RunEffect> => {
  const digest = effectDigest(effect);
  return { effect, digest, grant: jwsOf({ ...CLAIMS, digest }, APPROVALS) };
};

const GRANTS: readonly Grants[] = [
  { name: 'the effect that was approved', code: null },
  { name: 'an order that does not name its approval', without: 'approval', code: null },
  { name: 'no grant', without: 'grant', code: 'EXECUTOR_GRANT_INVALID' },
  {
    name: 'a grant by a stranger',
    order: { grant: jwsOf(CLAIMS, STRANGER) },
    code: 'EXECUTOR_GRANT_INVALID',
  },
  {
    name: 'a grant by a stranger under the name of the key',
    order: { grant: jwsOf(CLAIMS, STRANGER, { kid: keyIdOf(publicOf(APPROVALS)) }) },
    code: 'EXECUTOR_GRANT_INVALID',
  },
  {
    name: 'a grant with another algorithm',
    order: { grant: jwsOf(CLAIMS, APPROVALS, { alg: 'none' }) },
    code: 'EXECUTOR_GRANT_INVALID',
  },
  {
    name: 'an answer in place of a grant',
    order: { grant: jwsOf(retry, APPROVALS) },
    code: 'EXECUTOR_GRANT_INVALID',
  },
  {
    name: 'an identity in place of a grant',
    order: { grant: jwsOf({ ...CLAIMS, use: 'identity' }, APPROVALS) },
    code: 'EXECUTOR_GRANT_INVALID',
  },
  { name: 'a text in place of a grant', order: { grant: 'no.grant' }, code: 'EXECUTOR_GRANT_INVALID' },
  {
    name: 'a grant whose claims were replaced',
    order: {
      grant: jwsOf(CLAIMS, APPROVALS).replace(/\.[^.]+\./, `.${Buffer.from('{}').toString('base64url')}.`),
    },
    code: 'EXECUTOR_GRANT_INVALID',
  },
  { name: 'work', order: signedFor(work), code: 'EXECUTOR_GRANT_INVALID' },
  {
    name: 'work without a grant',
    order: signedFor(work),
    without: 'grant',
    code: 'EXECUTOR_GRANT_INVALID',
  },
  { name: 'a preview', order: signedFor(preview), without: 'grant', code: null },
  {
    name: 'a preview as an effect without a grant',
    order: signedFor({ ...preview, kind: 'other' }),
    without: 'grant',
    code: 'EXECUTOR_GRANT_INVALID',
  },
  {
    name: 'a preview with other arguments',
    order: { ...signedFor(preview), effect: { ...preview, args: {} } },
    without: 'grant',
    code: 'EXECUTOR_DIGEST_MISMATCH',
  },
  {
    name: 'an effect that is not remote',
    order: signedFor(builtIn),
    code: 'EXECUTOR_GRANT_INVALID',
  },
  { name: 'other arguments', order: { effect: other }, code: 'EXECUTOR_DIGEST_MISMATCH' },
  {
    name: 'other arguments with their own digest',
    order: { effect: other, digest: effectDigest(other) },
    code: 'EXECUTOR_DIGEST_MISMATCH',
  },
  {
    name: 'a grant for another effect of the same arguments',
    order: { grant: jwsOf({ ...CLAIMS, sub: 'e-0000000000000000' }, APPROVALS) },
    code: 'EXECUTOR_GRANT_MISMATCH',
  },
  {
    name: 'the id of another effect',
    order: {
      id: effectIdOf(TASK, NODE, 'refund:ch_2'),
      grant: jwsOf({ ...CLAIMS, sub: effectIdOf(TASK, NODE, 'refund:ch_2') }, APPROVALS),
    },
    code: 'EXECUTOR_GRANT_MISMATCH',
  },
  {
    name: 'a grant of another approval',
    order: { approval: ApprovalId.parse('a-0000000002') },
    code: 'EXECUTOR_GRANT_MISMATCH',
  },
  { name: 'a grant in its last tolerated second', now: NOW + HOUR + 59, code: null },
  { name: 'an expired grant', now: NOW + HOUR + 60, code: 'EXECUTOR_GRANT_EXPIRED' },
  { name: 'an expired grant of a probe', now: NOW + 2 * HOUR, about: { kind: 'probe' }, code: null },
  {
    name: 'an expired grant of a start that a person repeats',
    now: NOW + 2 * HOUR,
    about: { epoch: 2, statement: jwsOf(retry, APPROVALS) },
    code: null,
  },
  {
    name: 'an expired answer',
    now: NOW + 4 * HOUR,
    about: { epoch: 2, statement: jwsOf(retry, APPROVALS) },
    code: 'EXECUTOR_GRANT_EXPIRED',
  },
  {
    name: 'an answer about an earlier start',
    now: NOW + 2 * HOUR,
    about: { epoch: 3, statement: jwsOf(retry, APPROVALS) },
    code: 'EXECUTOR_GRANT_EXPIRED',
  },
  {
    name: 'another answer than retry',
    now: NOW + 2 * HOUR,
    about: { epoch: 2, statement: jwsOf({ ...retry, answer: 'applied' }, APPROVALS) },
    code: 'EXECUTOR_GRANT_EXPIRED',
  },
  {
    name: 'an answer by a stranger',
    now: NOW + 2 * HOUR,
    about: { epoch: 2, statement: jwsOf(retry, STRANGER) },
    code: 'EXECUTOR_GRANT_EXPIRED',
  },
];

const grantVectors = () =>
  GRANTS.map(({ name, code, now = NOW, order: changes, without, about }) => {
    const { grant, approval, ...bare } = orderOf(changes);
    const order = {
      ...bare,
      ...(grant !== undefined && without !== 'grant' && { grant }),
      ...(approval !== undefined && without !== 'approval' && { approval }),
    };
    const claimed = { kind: 'run' as const, order, epoch: 1, ...about } satisfies CheckedOrder;
    /** `now` in epoch milliseconds. */
    return { name, claimed, now: now * 1_000, code };
  });

const TEMPLATES = [
  { template: 'Refund ${cents} cents of ${charge}', args: { charge: 'ch_1', cents: 500 } },
  { template: '${order.id} and ${missing}.', args: { order: { id: 'o-7' } } },
  { template: '${order} ${list} ${yes}', args: { order: { id: 1 }, list: [1, 'a'], yes: true } },
  { template: '${not a place} $${cents}', args: { cents: 1 } },
];

const beatOf = { x: rawPublicKeyOf(publicOf(CLAIMANT)), items: [{ id: ID, epoch: 1 }] };
const endOf = { x: beatOf.x, id: ID, epoch: 1 };

/** `vectors/remote-effects.json`. */
export const remoteVectors = () => ({
  canonical: CANONICAL.map((value) => ({ value, text: canonicalJson(value), sha256: digestOf(value) })),
  effects: [EFFECT, other, { ...EFFECT, task: TIMED_TASK }, { ...EFFECT, task: TaskId.parse(TIMED_KEY) }].map(
    (effect) => ({
      effect,
      digest: effectDigest(effect),
      id: effectIdOf(effect.task, effect.node, effect.idempotencyKey),
    }),
  ),
  heldTasks: [
    ['refund', 'refund:ch_1'],
    ['refund', 'é😀'],
    ['mail', 'refund:ch_1'],
    ['mail', TIMED_KEY],
  ].map(([capability = '', key = '']) => ({ capability, key, id: heldTaskIdOf(capability, key) })),
  templates: TEMPLATES.map(({ template, args }) => ({ template, args, text: filledIn(template, args) })),
  targets: [
    { name: 'refund', args: {} },
    { name: 'refund', target: 'payments:${charge}', args: { charge: 'ch_1' } },
  ].map(({ args, ...definition }) => ({
    ...definition,
    args,
    target: remoteTargetOf(definition, args),
  })),
  /** Keys of approvals that the claimant trusts. */
  keys: [signingKeyOf(publicOf(APPROVALS))],
  grants: grantVectors(),
  rotation: {
    published: {
      keys: [signingKeyOf(publicOf(NEXT))],
      statements: [
        jwsOf(
          {
            use: 'keys',
            keys: [signingKeyOf(publicOf(NEXT))],
            retired: [signingKeyOf(publicOf(APPROVALS))],
            iat: NOW,
          },
          APPROVALS,
        ),
        jwsOf({ use: 'keys', keys: [signingKeyOf(publicOf(STRANGER))], iat: NOW }, STRANGER),
      ],
    },
    /** Key ids that the holder of `keys` trusts afterwards. */
    trusted: [keyIdOf(publicOf(NEXT))],
  },
  claimant: {
    x: beatOf.x,
    /** Private key, PKCS #8 in PEM. */
    privateKey: CLAIMANT.export({ type: 'pkcs8', format: 'pem' }).toString(),
    text: `holdpoint-claim/1\n${canonicalJson(beatOf)}`,
    beat: signed(beatOf, CLAIMANT),
    ends: [
      { ...endOf, result: { kind: 'applied' as const, outputs: { refund: 're_1' } } },
      {
        ...endOf,
        result: { kind: 'failed_clean' as const, error: { code: 'REMOTE_DECLINED', message: 'declined' } },
      },
      { ...endOf, result: { kind: 'unknown' as const, reason: 'é "connection" lost' } },
      {
        ...endOf,
        result: { kind: 'found' as const, found: 'not_applied' as const, reason: 'no such refund' },
      },
    ].map((end) => signed(end, CLAIMANT)),
  },
  /** Signed webhooks, verified with `keys`. `code` is null if they are valid. `now` in epoch milliseconds. */
  webhooks: webhookVectors(),
});
