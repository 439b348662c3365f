import type { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import { useEffect, useRef, useState } from 'preact/hooks';
import { pollUntilAnswered } from '../parts/look-until.ts';
import { textOfError } from '../parts/use-load.ts';
import { type Caller, CallError } from '../session/call.ts';
import { useSession } from '../session/context.ts';
import { NO_PROBLEMS, placed, type Problems, type Submission } from './submission.ts';

export type Submitting =
  | { readonly state: 'idle' }
  | { readonly state: 'sending' }
  /** The answer was lost: the task is looked for until it is known whether it is there. */
  | { readonly state: 'looking'; readonly text: string }
  | {
      readonly state: 'refused';
      readonly text: string;
      readonly problems: Problems;
      /** It was started before with other content. */
      readonly earlier?: string;
    };

const refused = (text: string, problems = NO_PROBLEMS): Submitting => ({ state: 'refused', text, problems });

const UNREACHABLE =
  'Holdpoint cannot be reached. Your input is kept; starting again is safe and creates one task.';
const NOT_ARRIVED =
  'The connection was lost and the task has not started yet. Start it again: this creates one task, even if both requests arrive.';
const CONFLICT =
  'The earlier version of this task has started, and you changed the form since. Look at that task first; the form would start another one.';
const REFUSALS: Readonly<Record<string, string>> = {
  APPROVALS_SCOPE: 'Your token cannot start tasks.',
  APPROVALS_UNAUTHENTICATED: 'Your token is no longer valid. Nothing was started: sign in again.',
};

export type Ended = {
  readonly submitting: Submitting;
  /** Once the task has started. */
  readonly started?: string;
  /** The user has left the form. */
  readonly isGone: boolean;
};

/** Whether the task exists; undefined if no service could tell for a long time. */
const isThere = (caller: Caller, id: Submission['id'] & string): Promise<boolean | undefined> =>
  pollUntilAnswered(async () => {
    try {
      await caller.ask('orchestrator', 'get', { id });
      return true;
    } catch (error) {
      if (error instanceof CallError && error.code === 'ORCHESTRATOR_UNKNOWN_TASK') return false;
      throw error;
    }
  });

/**
 * Starts each task at most once: one at a time, under an ID chosen by the page. After a lost answer it first looks
 * for the task; only the user submits it again, under the same ID.
 */
export const useSubmission = (onEnded: (ended: Ended) => void) => {
  const { caller } = useSession();
  const [submitting, setSubmitting] = useState<Submitting>({ state: 'idle' });
  const isUnderWay = useRef(false);
  const isGone = useRef(false);
  useEffect(() => () => void (isGone.current = true), []);

  /** Undefined after a successful start. */
  const sent = async (
    submission: Submission & { readonly id: string },
    workflow: OfferedWorkflow,
  ): Promise<Submitting | undefined> => {
    try {
      await caller.ask('orchestrator', 'submit', submission, { key: submission.id });
      return undefined;
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      if (error.code === 'ORCHESTRATOR_TASK_CONFLICT')
        return { ...refused(CONFLICT), earlier: submission.id } as Submitting;
      if (!error.unknown) {
        const problems = placed(workflow, error.problems);
        const isBeside = error.problems.length > 0;
        const text = isBeside
          ? 'The task cannot be started like this.'
          : (REFUSALS[error.code] ?? error.message);
        return refused(text, problems);
      }
      setSubmitting({
        state: 'looking',
        text: 'Answer lost. Checking whether the task started …',
      });
      const found = await isThere(caller, submission.id);
      if (found === true) return undefined;
      return refused(found === undefined ? UNREACHABLE : NOT_ARRIVED);
    }
  };

  const start = async (
    submission: Submission & { readonly id: string },
    workflow: OfferedWorkflow,
  ): Promise<void> => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setSubmitting({ state: 'sending' });
    let came: Submitting | undefined;
    try {
      came = await sent(submission, workflow);
    } catch (error) {
      came = refused(textOfError(error));
    } finally {
      isUnderWay.current = false;
    }
    if (!isGone.current && came !== undefined) setSubmitting(came);
    onEnded({
      submitting: came ?? { state: 'idle' },
      isGone: isGone.current,
      ...(came === undefined && { started: submission.id }),
    });
  };

  return {
    submitting,
    start,
    /** Errors found before submitting. */
    refuse: (problems: Problems): void =>
      setSubmitting(refused('Some fields are missing or invalid.', problems)),
  };
};
