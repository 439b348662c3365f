import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice, DecideApproval } from '@holdpoint/contracts/approval/commands';
import { useRef, useState } from 'preact/hooks';
import { lookUntilAnswered } from '../parts/look-until.ts';
import { textOfError } from '../parts/use-load.ts';
import { CallError } from '../session/call.ts';
import { createKey, useSession } from '../session/context.ts';
import { lookFor } from './sent-decision.ts';

/** A decision as it is sent; `respond` answers a question with answers of its own. */
export type Decision = Omit<DecideApproval, 'id' | 'digest' | 'decision'> & {
  readonly decision: Choice | 'respond';
  readonly response?: unknown;
};

export type Sending =
  | { readonly state: 'idle' }
  | { readonly state: 'sending' }
  /** The answer was lost: the request is looked at until it is known what became of the decision. */
  | { readonly state: 'looking'; readonly text: string }
  | { readonly state: 'done'; readonly text: string }
  | { readonly state: 'refused'; readonly text: string };

const REFUSALS: Readonly<Record<string, string>> = {
  APPROVALS_ALREADY_DECIDED: 'Somebody was faster: this has been decided already. Below is what stands.',
  APPROVALS_DIGEST_MISMATCH:
    'What you looked at is not what is asked any more. Look again before you decide.',
  APPROVALS_NOT_ENTITLED: 'You are not among those who may decide on this.',
  APPROVALS_FOUR_EYES: 'You have asked for this yourself, so somebody else has to decide.',
  APPROVALS_SCOPE: 'Your token does not allow decisions.',
  APPROVALS_UNAUTHENTICATED: 'Your token is not valid any more. Nothing was decided: sign in again.',
};

/** What a refusal means for whoever has decided. Nothing has happened by his decision. */
export const refusalText = (error: unknown): string =>
  error instanceof CallError ? (REFUSALS[error.code] ?? error.message) : textOfError(error);

/**
 * Sends decisions so that none counts twice: one at a time, and one whose answer was lost is not sent again before a look has
 * shown that it has not arrived. Even then a person does it.
 */
export const useDecision = (onSettled: () => void) => {
  const { caller, me } = useSession();
  const [sending, setSending] = useState<Sending>({ state: 'idle' });
  const isUnderWay = useRef(false);
  const key = useRef<string | undefined>(undefined);

  const found = async (id: string, decision: Decision): Promise<Sending> => {
    const view = await lookUntilAnswered(() => caller.ask('approvals', 'get', { id }));
    if (view === undefined)
      return {
        state: 'refused',
        text: 'Holdpoint cannot be reached. Look here again before you decide once more.',
      };
    switch (lookFor(view, { by: me.name, decision: decision.decision }).kind) {
      case 'counted':
        return { state: 'done', text: 'The connection was lost, but your decision has arrived.' };
      case 'settled':
        return { state: 'refused', text: REFUSALS['APPROVALS_ALREADY_DECIDED'] ?? '' };
      case 'not-arrived':
        return {
          state: 'refused',
          text: 'The connection was lost, and your decision has not arrived. Nothing was decided: you may send it again.',
        };
    }
  };

  const sent = async (view: ApprovalView, decision: Decision): Promise<Sending> => {
    // The same one, sent again after a look, is known by its key as well.
    key.current ??= createKey();
    try {
      const request = { id: view.id, digest: view.digest, ...decision } as DecideApproval;
      const { missing = 0 } = await caller.ask('approvals', 'decide', request, { key: key.current });
      key.current = undefined;
      return {
        state: 'done',
        text: missing > 0 ? `Your decision counts; ${String(missing)} more needed.` : 'Your decision counts.',
      };
    } catch (error) {
      if (error instanceof CallError && error.unknown) {
        setSending({
          state: 'looking',
          text: 'The answer was lost. Looking whether your decision has arrived …',
        });
        return found(view.id, decision);
      }
      key.current = undefined;
      return { state: 'refused', text: refusalText(error) };
    }
  };

  const decide = async (view: ApprovalView, decision: Decision): Promise<void> => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setSending({ state: 'sending' });
    try {
      setSending(await sent(view, decision));
    } catch (error) {
      setSending({ state: 'refused', text: refusalText(error) });
    } finally {
      isUnderWay.current = false;
      onSettled();
    }
  };
  /** Another decision is another one to the service as well. */
  const forget = (): void => {
    key.current = undefined;
    setSending({ state: 'idle' });
  };
  return { sending, decide, forget };
};
