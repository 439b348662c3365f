import type { RawData } from 'ws';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { mayDecideNow } from '@holdpoint/contracts/approval/question';
import { isAmong } from '@holdpoint/contracts/workflow/audience';
import type { WatchMessage } from '@holdpoint/contracts/approval/watch';
import type { FeedEvent } from '../../adapters/feed.ts';
import type { Principal } from '../../approval/state.ts';

type ApprovalEventMessage = Extract<WatchMessage, { readonly approval: ApprovalView }>;

/** The message about an event; undefined for events that clients do not receive. */
const messageOf = (
  { type, seq, at, view: approval }: FeedEvent,
  token?: string,
): ApprovalEventMessage | undefined => {
  const fields = { seq, at, approval, ...(token !== undefined && { token }) };
  switch (type) {
    case 'requested':
      return { type: 'approval.requested', ...fields };
    case 'resolved':
      return { type: 'approval.resolved', ...fields };
    case 'voted':
    case 'escalated':
    case 'reminded':
      return { type: 'approval.updated', change: type, ...fields };
    case 'decision_refused':
    case 'delivered':
    case 'delivery_failed':
    case 'effect_outcome_recorded':
      return undefined;
  }
};

/**
 * The text for one person about an event; undefined when they are not in the audience. It is serialized once
 * with and once without the approval's token.
 */
export const createAnnouncements = (tokenOf: (id: string) => string) => {
  const written = new WeakMap<FeedEvent, Map<boolean, string | undefined>>();
  return (event: FeedEvent, person: Principal, all: boolean): string | undefined => {
    const { view, id } = event;
    if (!all && !isAmong(view.audience, person)) return undefined;
    const withToken = mayDecideNow(person, view);
    const texts = written.get(event) ?? new Map<boolean, string | undefined>();
    written.set(event, texts);
    if (!texts.has(withToken)) {
      const message = messageOf(event, withToken ? tokenOf(id) : undefined);
      texts.set(withToken, message && JSON.stringify(message));
    }
    return texts.get(withToken);
  };
};
export type Announcements = ReturnType<typeof createAnnouncements>;

/** The bytes of a WebSocket frame. */
export const bytesOf = (data: RawData): Uint8Array => {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
};

/** The sender's reference, even when the rest of the message is invalid. */
export const refIn = (message: unknown): { readonly ref?: string } => {
  const ref = typeof message === 'object' && message !== null && 'ref' in message ? message.ref : undefined;
  return typeof ref === 'string' && ref.length > 0 && ref.length <= 100 ? { ref } : {};
};
