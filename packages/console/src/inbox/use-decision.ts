import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { digestShown } from '@holdpoint/contracts/approval/shown-effect';
import type { Choice, DecideApproval } from '@holdpoint/contracts/approval/commands';
import { useRef, useState } from 'preact/hooks';
import { pollUntilAnswered } from '../parts/look-until.ts';
import { textOfError } from '../parts/use-load.ts';
import { CallError } from '../session/call.ts';
import { createKey, useSession } from '../session/context.ts';
import { fateOf } from './sent-decision.ts';

/** A decision to send; `respond` answers a question. */
export type Decision = Omit<DecideApproval, 'id' | 'digest' | 'decision'> & {
  readonly decision: Choice | 'respond';
  readonly response?: unknown;
};

export type Sending =
  | { readonly state: 'idle' }
  | { readonly state: 'sending' }
  /** The answer was lost: the page polls the request to learn whether the decision arrived. */
  | { readonly state: 'looking'; readonly text: string }
  | { readonly state: 'done'; readonly text: string }
  | { readonly state: 'refused'; readonly text: string };

const REFUSALS: Readonly<Record<string, string>> = {
  APPROVALS_ALREADY_DECIDED: 'Already decided. The current state is shown below.',
  APPROVALS_DIGEST_MISMATCH: 'The effect changed after you opened it. Review it again before you decide.',
  APPROVALS_NOT_ENTITLED: 'You are not allowed to decide this.',
  APPROVALS_FOUR_EYES: 'You requested this yourself: another approver must decide.',
  APPROVALS_SCOPE: 'Your token does not allow decisions.',
  APPROVALS_UNAUTHENTICATED: 'Your token is no longer valid. Nothing was decided: sign in again.',
};

/** Explains a refusal. The refused decision had no effect. */
export const refusalText = (error: unknown): string =>
  error instanceof CallError ? (REFUSALS[error.code] ?? error.message) : textOfError(error);

/**
 * Sends each decision at most once: one at a time. After a lost answer it first checks whether the decision has
 * arrived; only the user sends it again.
 */
export const useDecision = (onSettled: () => void) => {
  const { caller, me } = useSession();
  const [sending, setSending] = useState<Sending>({ state: 'idle' });
  const isUnderWay = useRef(false);
  const key = useRef<string | undefined>(undefined);

  const found = async (id: string, decision: Decision): Promise<Sending> => {
    const view = await pollUntilAnswered(() => caller.ask('approvals', 'get', { id }));
    if (view === undefined)
      return {
        state: 'refused',
        text: 'Holdpoint cannot be reached. Check this page again before you repeat the decision.',
      };
    switch (fateOf(view, { by: me.name, decision: decision.decision }).kind) {
      case 'counted':
        return { state: 'done', text: 'The connection was lost, but your decision arrived.' };
      case 'settled':
        return { state: 'refused', text: REFUSALS['APPROVALS_ALREADY_DECIDED'] ?? '' };
      case 'not-arrived':
        return {
          state: 'refused',
          text: 'The connection was lost and your decision did not arrive. You can send it again.',
        };
    }
  };

  const sent = async (view: ApprovalView, decision: Decision): Promise<Sending> => {
    // A decision that is sent again keeps its key.
    key.current ??= createKey();
    try {
      const request = { id: view.id, digest: digestShown(view), ...decision } as DecideApproval;
      const { approvalsMissing: missing = 0 } = await caller.ask('approvals', 'decide', request, {
        key: key.current,
      });
      key.current = undefined;
      return {
        state: 'done',
        text: missing > 0 ? `Vote recorded; ${String(missing)} more needed.` : 'Decision recorded.',
      };
    } catch (error) {
      if (error instanceof CallError && error.unknown) {
        setSending({
          state: 'looking',
          text: 'Answer lost. Checking whether your decision arrived …',
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
  /** A different decision gets a new key. */
  const forget = (): void => {
    key.current = undefined;
    setSending({ state: 'idle' });
  };
  return { sending, decide, forget };
};
