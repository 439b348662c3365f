import type { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import { useEffect, useRef, useState } from 'preact/hooks';
import { lookUntilAnswered } from '../parts/look-until.ts';
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
      /** It was started before, with other content. */
      readonly earlier?: string;
    };

const refused = (text: string, problems = NO_PROBLEMS): Submitting => ({ state: 'refused', text, problems });

const UNREACHABLE =
  'Holdpoint cannot be reached. What you typed stays here; to start it once more is safe, it becomes one task.';
const NOT_ARRIVED =
  'The connection was lost, and the task has not been started so far. Start it once more: it becomes one task, even if both arrive.';
const CONFLICT =
  'It was started before, and you have changed it since: the earlier one has arrived. What is here now would be another task; look at the earlier one first.';
const REFUSALS: Readonly<Record<string, string>> = {
  APPROVALS_SCOPE: 'Your token does not allow to start tasks.',
  APPROVALS_UNAUTHENTICATED: 'Your token is not valid any more. Nothing was started: sign in again.',
};

export type Ended = {
  readonly submitting: Submitting;
  /** Once it has been started. */
  readonly started?: string;
  /** Whoever sent it looks elsewhere by now. */
  readonly isGone: boolean;
};

/** Whether the task is there; undefined when nobody could say so for a long while. */
const isThere = (caller: Caller, id: Submission['id'] & string): Promise<boolean | undefined> =>
  lookUntilAnswered(async () => {
    try {
      await caller.ask('orchestrator', 'get', { id });
      return true;
    } catch (error) {
      if (error instanceof CallError && error.code === 'ORCHESTRATOR_UNKNOWN_TASK') return false;
      throw error;
    }
  });

/**
 * Starts tasks so that none is started twice: one at a time, each under the id that the page has chosen for it, and one whose
 * answer was lost is looked for before a person starts it again, under the same id.
 */
export const useSubmission = (onEnded: (ended: Ended) => void) => {
  const { caller } = useSession();
  const [submitting, setSubmitting] = useState<Submitting>({ state: 'idle' });
  const isUnderWay = useRef(false);
  const isGone = useRef(false);
  useEffect(() => () => void (isGone.current = true), []);

  /** Undefined once it has been started. */
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
        const text = isBeside ? 'It cannot be started like this.' : (REFUSALS[error.code] ?? error.message);
        return refused(text, problems);
      }
      setSubmitting({
        state: 'looking',
        text: 'The answer was lost. Looking whether the task was started …',
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
    /** Found wrong before it was sent. */
    refuse: (problems: Problems): void =>
      setSubmitting(refused('Something is missing, or is not what is needed.', problems)),
  };
};
