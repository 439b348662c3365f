import { createHash } from 'node:crypto';
import type { Notice } from '@holdpoint/contracts/approval/status';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { readState } from '@holdpoint/runtime/store/read';
import type { Closed, Delivery, Pending } from '../../approval/state.ts';
import { noticeName } from '../../approval/notices.ts';
import type { Accept } from '../../aggregates.ts';
import type { SurfaceDeps } from '../surface-deps.ts';
import { escalationOf, messageOf, NO_MENTIONS, reminderOf } from './messages/message.ts';
import { DiscordFailure, type DiscordRest, UNKNOWN_MESSAGE } from './rest.ts';

/** Deliveries beyond it wait for their timer. */
const QUEUE_MAX = 500;

const nameOf = (notice: Notice, number = 1): string => noticeName({ surface: 'discord', notice, number });

/** At most 25 characters. A repeated delivery has the same nonce, so Discord creates no second message. */
const nonceOf = (approval: string, notice: Notice, number = 1) =>
  ({
    nonce: createHash('sha256')
      .update(`${approval}/${nameOf(notice, number)}`)
      .digest('base64url')
      .slice(0, 24),
    enforce_nonce: true,
  }) as const;

/** Id of the approval's message, if known. */
const messageIn = ({ references = {} }: Pending | Closed): string | undefined =>
  references[nameOf('requested')] ?? references[nameOf('resolved')];

export type Deliveries = {
  readonly deliver: (delivery: Delivery, accept: Accept) => void;
  /** Updates a message to the current state. A failure is ignored, because this is no notice. */
  readonly refresh: (approval: string, message: string) => void;
  /** Resolves once no delivery is running. */
  readonly stop: () => Promise<void>;
};

type Parts = Pick<SurfaceDeps, 'pool' | 'decider' | 'tokens' | 'log'> & { readonly rest: DiscordRest };

export const createDeliveries = ({ pool, decider, tokens, log, rest }: Parts): Deliveries => {
  let tail = Promise.resolve();
  let stopped = false;
  const waiting = new Set<string>();
  /** Failures logged since the last success. */
  const complaints = new Set<string>();

  const stateOf = async (approval: string): Promise<Pending | Closed | undefined> => {
    const state = await readState(pool, decider, approval);
    return state.status === 'pending' || state.status === 'closed' ? state : undefined;
  };

  const show = async (message: string, state: Pending | Closed): Promise<void> => {
    try {
      await rest.edit(message, messageOf(state, tokens.of(state.request.id)));
    } catch (error) {
      // The message was deleted, so it shows nothing wrong.
      if (!(error instanceof DiscordFailure) || error.reason !== UNKNOWN_MESSAGE) throw error;
    }
  };

  const refresh = async (message: string, state: Pending | Closed): Promise<void> => {
    await show(message, state);
    if (state.status === 'closed') return;
    // Another replica may have updated it meanwhile.
    const later = await stateOf(state.request.id);
    if (later?.status === 'closed') await show(message, later);
  };

  const resolve = async (state: Closed): Promise<string> => {
    const { id } = state.request;
    const known = messageIn(state);
    // The message may exist although its creation was not confirmed. The nonce then returns the existing one.
    const message =
      known ?? (await rest.create({ ...messageOf(state, tokens.of(id)), ...nonceOf(id, 'requested') }));
    await show(message, state);
    return message;
  };

  /** Resolves to the message id, or to undefined when the notice cannot be delivered now. */
  const deliverNotice = async ({ approval, notice, number }: Delivery): Promise<string | undefined> => {
    const state = await stateOf(approval);
    if (state === undefined || state.notified.includes(nameOf(notice, number))) return undefined;
    if (notice === 'resolved') return state.status === 'closed' ? resolve(state) : undefined;
    if (state.status === 'closed') return undefined;
    if (notice === 'requested')
      return rest.create({ ...messageOf(state, tokens.of(approval)), ...nonceOf(approval, notice) });
    const known = messageIn(state);
    if (known === undefined) return undefined;
    // The message lists who may decide.
    if (notice === 'escalated') await refresh(known, state);
    return rest.create({
      content: notice === 'reminded' ? reminderOf(state) : escalationOf(state),
      allowed_mentions: NO_MENTIONS,
      message_reference: { message_id: known, fail_if_not_exists: false },
      ...nonceOf(approval, notice, number),
    });
  };

  const logFailure = (error: unknown, approval: string): void => {
    if (stopped || (error instanceof DiscordFailure && error.kind === 'waiting')) return;
    const fields = errorFields(error);
    const what = `${fields.error} ${fields.reason ?? ''}`;
    if (complaints.has(what)) return;
    complaints.add(what);
    const isRefused = error instanceof DiscordFailure && error.kind === 'refused';
    log[isRefused ? 'error' : 'warn']({ ...fields, approval }, 'discord notice could not be delivered');
  };

  /** Runs deliveries one after another. */
  const enqueue = (key: string, approval: string, run: () => Promise<void>): void => {
    if (stopped || waiting.has(key) || waiting.size >= QUEUE_MAX) return;
    waiting.add(key);
    tail = tail.then(async () => {
      waiting.delete(key);
      if (stopped) return;
      try {
        await run();
      } catch (error) {
        logFailure(error, approval);
      }
    });
  };

  return {
    deliver: (delivery, accept) => {
      const { approval, surface, notice, number } = delivery;
      enqueue(`${approval}/${nameOf(notice, number)}`, approval, async () => {
        const reference = await deliverNotice(delivery);
        if (reference === undefined) return;
        complaints.clear();
        accept({
          kind: 'approval',
          aggregate: approval,
          message: { kind: 'delivered', surface, notice, number, reference },
        });
      });
    },
    refresh: (approval, message) =>
      enqueue(`${approval}/${message}`, approval, async () => {
        const state = await stateOf(approval);
        if (state !== undefined) await refresh(message, state);
      }),
    stop: () => {
      stopped = true;
      rest.stop();
      return tail;
    },
  };
};
