import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { WebhookEvent } from '@holdpoint/contracts/webhook/event';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { readState } from '@holdpoint/runtime/store/read';
import type { Accept } from '../../aggregates.ts';
import type { CallbackMessage, CallbackWork } from '../../callback/callback.ts';
import { isPointless, noticeName } from '../../approval/notices.ts';
import type { Closed, Delivery, Pending } from '../../approval/state.ts';
import { approvalView } from '../../queries/requests.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { createQueue } from './queue.ts';
import { sendWebhook, type Webhook, WebhookFailure } from './send-webhook.ts';
import type { WebhookSettings } from './settings.ts';

type Type = WebhookEvent['type'];

const timeOf = (ms: number): string => new Date(ms).toISOString();

const noticeEvent = (state: Pending | Closed, notice: Delivery['notice'], now: number): WebhookEvent => {
  const { effect, ...view } = approvalView(state);
  const { id, task, node, title, requestedBy, agent, audience, risk, status } = view;
  const { requestedAt, expiresAt, decidedBy, decidedAt, comment } = view;
  const at = notice === 'requested' ? requestedAt : notice === 'resolved' ? decidedAt : undefined;
  return {
    type: `approval.${notice}`,
    version: 1,
    timestamp: timeOf(at ?? now),
    data: {
      id,
      task,
      node,
      title,
      uses: effect.uses,
      kind: effect.kind,
      target: effect.target,
      requestedBy,
      ...(agent !== undefined && { agent }),
      audience,
      ...(risk !== undefined && { risk }),
      status,
      requestedAt,
      expiresAt,
      ...(decidedBy !== undefined && { decidedBy }),
      ...(decidedAt !== undefined && { decidedAt }),
      ...(comment !== undefined && { comment }),
    },
  };
};

export type Webhooks = {
  /** Throws `APPROVALS_CALLBACK_NOT_ALLOWED`. */
  readonly assertAllowed: (url: string) => void;
  /** Sends a notice about a request; a timer repeats it. */
  readonly deliver: (delivery: Delivery, accept: Accept) => void;
  /** Sends a callback once; a timer repeats it. */
  readonly callBack: (work: CallbackWork, accept: Accept) => void;
  /** Resolves once no delivery is running. */
  readonly stop: () => Promise<void>;
};

type Parts = Pick<SurfaceDeps, 'pool' | 'decider' | 'keyring' | 'log'> & { readonly now?: () => number };

/** Signed webhooks: notices about requests, and callbacks of held effects. */
export const createWebhooks = (
  { pool, decider, keyring, log: serviceLog, now = Date.now }: Parts,
  { approvals, targets }: WebhookSettings,
): Webhooks => {
  const log = serviceLog.child({ surface: 'webhook' });
  const queue = createQueue();
  const stopping = new AbortController();
  const sender = { sign: keyring.signText, now, stopping: stopping.signal };

  const send = async (webhook: Webhook, onEnd: (failure?: WebhookFailure) => void): Promise<void> => {
    try {
      await sendWebhook(webhook, sender);
    } catch (error) {
      if (stopping.signal.aborted) return;
      const { origin } = new URL(webhook.url);
      log.warn({ ...errorFields(error), webhook: webhook.id, origin }, 'webhook could not be delivered');
      if (error instanceof WebhookFailure) onEnd(error);
      return;
    }
    onEnd();
  };

  const refusalOf = (origin: string): string =>
    `callbacks may not call ${origin}: add it to HOLDPOINT_NOTIFY_TARGETS of approvals`;

  const assertAllowed = (url: string): void => {
    const { origin } = new URL(url);
    if (!targets.has(origin)) throw new HoldpointError('APPROVALS_CALLBACK_NOT_ALLOWED', refusalOf(origin));
  };

  const notify = async (url: string, delivery: Delivery, accept: Accept): Promise<void> => {
    const { approval, surface, notice, number } = delivery;
    const state = await readState(pool, decider, approval);
    if (state.status !== 'pending' && state.status !== 'closed') return;
    if (isPointless(state, delivery)) return;
    const id = `${approval}_${notice}_${String(number)}`;
    // A refusal for good stops the repeats of this notice.
    await send({ id, url, event: noticeEvent(state, notice, now()) }, (failure) => {
      if (failure?.isFinal === false) return;
      accept({
        kind: 'approval',
        aggregate: approval,
        message: { kind: 'delivered', surface, notice, number },
      });
    });
  };

  return {
    assertAllowed,
    deliver: (delivery, accept) => {
      if (approvals === undefined) return;
      const key = `${delivery.approval}/${noticeName(delivery)}`;
      queue.add(new URL(approvals).origin, key, () =>
        notify(approvals, delivery, accept).catch((error: unknown) =>
          log.warn({ ...errorFields(error), approval: delivery.approval }, 'notice could not be read'),
        ),
      );
    },
    callBack: ({ order: { id, callback, held, at }, tries }, accept) => {
      const { url } = callback;
      const { origin } = new URL(url);
      const report = (message: CallbackMessage): void => accept({ kind: 'callback', aggregate: id, message });
      if (!targets.has(origin)) {
        log.warn({ webhook: id, origin }, 'callback waits: add its origin to HOLDPOINT_NOTIFY_TARGETS');
        report({ kind: 'callback_missed', tries, problem: refusalOf(origin) });
        return;
      }
      const event = {
        type: `effect.${held.state}` as Extract<Type, `effect.${string}`>,
        version: 1,
        timestamp: timeOf(at),
        data: held,
      } as const;
      queue.add(origin, id, () =>
        send({ id, url, event }, (failure) => {
          if (failure === undefined) return report({ kind: 'called_back', tries });
          const kind = failure.isFinal ? 'callback_gone' : 'callback_missed';
          report({ kind, tries, problem: failure.message });
        }),
      );
    },
    stop: () => {
      stopping.abort();
      return queue.stop();
    },
  };
};
