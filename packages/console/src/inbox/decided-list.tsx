import type { ApprovalStatus } from '@holdpoint/contracts/approval/status';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { useEffect, useState } from 'preact/hooks';
import { Badge, Busy, Empty, Problem, When } from '../parts/bits.tsx';
import { Short } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { STATUSES, SURFACES, textFor, wordFor } from '../tasks/labels.ts';

/** `decided` stands for all of them. */
type Outcome = Exclude<ApprovalStatus, 'pending'> | 'decided';
const KINDS: readonly Exclude<ApprovalStatus, 'pending'>[] = [
  'approved',
  'rejected',
  'changes_requested',
  'answered',
  'expired',
  'cancelled',
];
const PAGE = 50;

type Page = { readonly items: readonly ApprovalView[]; readonly next?: string | undefined };

export const DecidedList = ({ openId }: { readonly openId: string | undefined }) => {
  const { caller, watch } = useSession();
  const [status, setStatus] = useState<Outcome>('decided');
  const [words, setWords] = useState('');
  const [more, setMore] = useState<readonly Page[]>([]);
  const request = (after?: string) => ({
    status,
    limit: PAGE,
    order: 'newest' as 'oldest',
    ...(words.trim() !== '' && { search: words.trim() }),
    ...(after !== undefined && { after }),
  });
  const first = useLoad<Page>(
    (signal) => caller.ask('approvals', 'list', request(), { signal }),
    [status, words],
  );
  useEffect(() => setMore([]), [first.value]);
  useEffect(
    () =>
      watch.subscribe({
        approval: (updated) => {
          if (updated.status === status || (status === 'decided' && updated.status !== 'pending'))
            first.reload();
        },
        gap: first.reload,
      }),
    [watch, status, first.reload],
  );
  const pages = first.value === undefined ? [] : [first.value, ...more];
  const items = pages.flatMap((page) => page.items);
  const next = pages.at(-1)?.next;
  return (
    <>
      <div class="filters">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search decisions"
          value={words}
          onChange={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <select
          aria-label="Outcome"
          value={status}
          onChange={({ currentTarget }) => setStatus(currentTarget.value as Outcome)}
        >
          <option value="decided">Any outcome</option>
          {KINDS.map((each) => (
            <option key={each} value={each}>
              {STATUSES[each][0]}
            </option>
          ))}
        </select>
      </div>
      {first.error !== undefined && <Problem text={first.error} retry={first.reload} />}
      {first.value === undefined && first.error === undefined && <Busy />}
      {first.value !== undefined && items.length === 0 && <Empty>None.</Empty>}
      <ul class="rows">
        {items.map((approval) => (
          <li key={approval.id} class={approval.id === openId ? 'row-item open' : 'row-item'}>
            <a
              href={hrefOf('inbox', 'decided', approval.id)}
              aria-current={approval.id === openId ? 'true' : undefined}
            >
              <span class="row-title">
                <Short text={approval.title} max={100} />
              </span>
              <span class="row-meta">
                <Badge word={wordFor(STATUSES, approval.status)} />
                <span>
                  by <Short text={approval.decidedBy ?? 'nobody'} max={40} />
                  {approval.surface !== undefined && ` on ${textFor(SURFACES, approval.surface)}`}
                </span>
                {approval.decidedAt !== undefined && <When at={approval.decidedAt} />}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {next !== undefined && (
        <button
          type="button"
          class="more"
          onClick={() =>
            void caller.ask('approvals', 'list', request(next)).then((page) => setMore([...more, page]))
          }
        >
          More
        </button>
      )}
    </>
  );
};
