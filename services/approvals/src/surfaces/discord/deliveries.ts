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

/** What waits beyond it waits for its timer. */
const QUEUE_MAX = 500;

const nameOf = (notice: Notice, number = 1): string => noticeName({ surface: 'discord', notice, number });

/** Twenty-five characters at the most: the same when a notice is delivered again, so that Discord makes no second message. */
const nonceOf = (approval: string, notice: Notice, number = 1) =>
  ({
    nonce: createHash('sha256')
      .update(`${approval}/${nameOf(notice, number)}`)
      .digest('base64url')
      .slice(0, 24),
    enforce_nonce: true,
  }) as const;

/** The message that an approval has, as far as it is known. */
const messageIn = ({ references = {} }: Pending | Closed): string | undefined =>
  references[nameOf('requested')] ?? references[nameOf('resolved')];

export type Deliveries = {
  readonly deliver: (delivery: Delivery, accept: Accept) => void;
  /** Has a message show what stands by now. It is no notice: if it cannot be done, it is left. */
  readonly refresh: (approval: string, message: string) => void;
  /** Resolves once nothing is under way any more. */
  readonly stop: () => Promise<void>;
};

type Parts = Pick<SurfaceDeps, 'pool' | 'decider' | 'tokens' | 'log'> & { readonly rest: DiscordRest };

export const createDeliveries = ({ pool, decider, tokens, log, rest }: Parts): Deliveries => {
  let tail = Promise.resolve();
  let stopped = false;
  const waiting = new Set<string>();
  /** What was complained of since something last went well. */
  const complaints = new Set<string>();

  const stateOf = async (approval: string): Promise<Pending | Closed | undefined> => {
    const state = await readState(pool, decider, approval);
    return state.status === 'pending' || state.status === 'closed' ? state : undefined;
  };

  const show = async (message: string, state: Pending | Closed): Promise<void> => {
    try {
      await rest.edit(message, messageOf(state, tokens.of(state.request.id)));
    } catch (error) {
      // Somebody has deleted it: it shows nothing that would be wrong.
      if (!(error instanceof DiscordFailure) || error.reason !== UNKNOWN_MESSAGE) throw error;
    }
  };

  const refresh = async (message: string, state: Pending | Closed): Promise<void> => {
    await show(message, state);
    if (state.status === 'closed') return;
    // Another replica may have shown the end of it meanwhile.
    const later = await stateOf(state.request.id);
    if (later?.status === 'closed') await show(message, later);
  };

  const resolve = async (state: Closed): Promise<string> => {
    const { id } = state.request;
    const known = messageIn(state);
    // It may be there all the same, if nobody heard that it was made: then it has this nonce, and is the one that is answered.
    const message =
      known ?? (await rest.create({ ...messageOf(state, tokens.of(id)), ...nonceOf(id, 'requested') }));
    await show(message, state);
    return message;
  };

  /** Resolves to the message it was told with, or to nothing when there is no telling it now. */
  const deliverNotice = async ({ approval, notice, number }: Delivery): Promise<string | undefined> => {
    const state = await stateOf(approval);
    if (state === undefined || state.notified.includes(nameOf(notice, number))) return undefined;
    if (notice === 'resolved') return state.status === 'closed' ? resolve(state) : undefined;
    if (state.status === 'closed') return undefined;
    if (notice === 'requested')
      return rest.create({ ...messageOf(state, tokens.of(approval)), ...nonceOf(approval, notice) });
    const known = messageIn(state);
    if (known === undefined) return undefined;
    // It says who may decide.
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
    log[isRefused ? 'error' : 'warn']({ ...fields, approval }, 'discord could not be told');
  };

  /** One after another: what was asked for first is shown first. */
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
