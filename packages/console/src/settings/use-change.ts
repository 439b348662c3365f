import { useRef, useState } from 'preact/hooks';
import { textOfError } from '../parts/use-load.ts';
import { CallError } from '../session/call.ts';
import { createKey, useSession } from '../session/context.ts';

/** Sends one change at a time, announces its success and keeps its problem. */
export const useChange = (onDone: () => void) => {
  const { say } = useSession();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const isUnderWay = useRef(false);
  const change = async (work: (key: string) => Promise<unknown>, done: string): Promise<boolean> => {
    if (isUnderWay.current) return false;
    isUnderWay.current = true;
    setBusy(true);
    setProblem(undefined);
    try {
      await work(createKey());
      say(done);
      return true;
    } catch (error) {
      const isLost = error instanceof CallError && error.unknown;
      setProblem(isLost ? 'Answer lost. Check the list before you try again.' : textOfError(error));
      return false;
    } finally {
      isUnderWay.current = false;
      setBusy(false);
      onDone();
    }
  };
  return { isBusy, problem, change };
};
