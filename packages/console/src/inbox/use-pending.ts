import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import type { Watch } from '../live/watch.ts';
import { textOfError } from '../parts/use-load.ts';
import type { Caller } from '../session/call.ts';
import type { Pending } from '../session/context.ts';
import { withUpdate } from './inbox-order.ts';

const PAGE = 200;
const PAGES_MAX = 10;

/** The pending requests, kept up to date. */
export const usePending = (caller: Caller, watch: Watch): Pending => {
  const [items, setItems] = useState<readonly ApprovalView[]>();
  const [error, setError] = useState<string>();
  const [isCut, setCut] = useState(false);
  const load = useCallback(async (): Promise<void> => {
    const found: ApprovalView[] = [];
    // Updates during the load are newer than the loaded list.
    const meanwhile: ApprovalView[] = [];
    const stop = watch.subscribe({ approval: (view) => void meanwhile.push(view), gap: () => undefined });
    try {
      let after: string | undefined;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const answer = await caller.ask('approvals', 'list', {
          limit: PAGE,
          order: 'risk',
          ...(after !== undefined && { after }),
        });
        found.push(...answer.items);
        after = answer.next;
        if (after === undefined) break;
      }
      setCut(after !== undefined);
      setItems(meanwhile.reduce<readonly ApprovalView[]>(withUpdate, found));
      setError(undefined);
    } catch (failed) {
      setError(textOfError(failed));
    } finally {
      stop();
    }
  }, [caller, watch]);
  useEffect(() => {
    void load();
    return watch.subscribe({
      approval: (view) => setItems((last) => last && withUpdate(last, view)),
      gap: () => void load(),
    });
  }, [load, watch]);
  return useMemo(() => ({ items, error, isCut, load }), [items, error, isCut, load]);
};
