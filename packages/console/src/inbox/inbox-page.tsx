import type { ApprovalView, Risk as RiskName } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import { isAmong } from '@holdpoint/contracts/workflow/audience';
import { useMemo, useState } from 'preact/hooks';
import { Busy, Empty, Problem } from '../parts/bits.tsx';
import { Short } from '../parts/safe.tsx';
import { moveAmong, useKeys } from '../parts/use-keys.ts';
import { useNow } from '../parts/use-now.ts';
import { useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { span } from '../text/time.ts';
import { KINDS } from '../tasks/labels.ts';
import { ApprovalPage, Risk, TimeLeft } from './approval-page.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { DecidedList } from './decided-list.tsx';
import { inOrder, type InboxOrder, riskShown } from './inbox-order.ts';
import { inputOf } from './question.ts';

const Row = ({
  approval,
  isOpen,
  isChosen,
  onChoose,
  now,
}: {
  readonly approval: ApprovalView;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  readonly onChoose: (() => void) | undefined;
  readonly now: number;
}) => (
  <li class={isOpen ? 'row-item open' : 'row-item'}>
    {onChoose ? (
      <input type="checkbox" aria-label={`Select ${approval.id}`} checked={isChosen} onChange={onChoose} />
    ) : (
      <span class="no-check" />
    )}
    <a href={hrefOf('inbox', approval.id)} aria-current={isOpen ? 'true' : undefined} data-row={approval.id}>
      <span class="row-title">
        <Short text={approval.title} max={100} />
      </span>
      <span class="row-sub">
        {questionOf(approval) === 'effect' ? KINDS[approval.effect.kind] : 'Question'}
        {' · '}
        <Short text={approval.effect.target} max={60} />
      </span>
      <span class="row-meta">
        <Risk approval={approval} />
        <span>
          <Short text={approval.requestedBy} max={40} />, {span(now - approval.requestedAt)} ago
        </span>
        <TimeLeft expiresAt={approval.expiresAt} />
      </span>
    </a>
  </li>
);

const goTo = (href: string): void => {
  location.hash = href;
};

/** The list of requests, with one request beside it. */
export const InboxPage = ({ rest: [id, ...more] }: { readonly rest: readonly string[] }) => {
  const { me, pending } = useSession();
  const { items, error, isCut, load } = pending;
  const [order, setOrder] = useState<InboxOrder>('risk');
  const [risk, setRisk] = useState<RiskName | ''>('');
  const [isMine, setMine] = useState(false);
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const now = useNow();
  const isHistory = id === 'decided';
  const openId = isHistory ? more[0] : id;

  const shown = useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    return inOrder(items ?? [], order).filter((view) => {
      if (risk !== '' && riskShown(view) !== risk) return false;
      if (isMine && !isAmong(view.audience, me)) return false;
      const text = `${view.title} ${view.effect.target} ${view.effect.uses} ${view.task} ${view.requestedBy}`;
      return wanted.every((word) => text.toLowerCase().includes(word));
    });
  }, [items, order, risk, isMine, words, me]);
  // Requests decided meanwhile leave the selection.
  const selected = shown.filter(({ id: each }) => chosen.has(each));

  const ids = shown.map(({ id: each }) => each);
  const toggle = (each: string): void => {
    const next = new Set(chosen);
    if (!next.delete(each)) next.add(each);
    setChosen(next);
  };
  useKeys({
    j: () => moveAmong('inbox', ids, 1),
    k: () => moveAmong('inbox', ids, -1),
    x: () => openId !== undefined && toggle(openId),
    '/': () => document.querySelector<HTMLInputElement>('#inbox-search')?.focus(),
    Escape: () => goTo(hrefOf('inbox')),
  });

  return (
    <div class={openId === undefined ? 'split' : 'split has-open'}>
      <section class="pane list" aria-label="Requests">
        <div class="tabs" role="group" aria-label="Which requests">
          <a href={hrefOf('inbox')} aria-current={isHistory ? undefined : 'page'}>
            Pending{items !== undefined && ` (${String(items.length)}${isCut ? '+' : ''})`}
          </a>
          <a href={hrefOf('inbox', 'decided')} aria-current={isHistory ? 'page' : undefined}>
            Decided
          </a>
        </div>
        {isHistory ? (
          <DecidedList openId={openId} />
        ) : (
          <>
            <div class="filters">
              <input
                id="inbox-search"
                type="search"
                placeholder="Search ( / )"
                aria-label="Search requests"
                value={words}
                onInput={({ currentTarget }) => setWords(currentTarget.value)}
              />
              <select
                aria-label="Order"
                value={order}
                onChange={({ currentTarget }) => setOrder(currentTarget.value as InboxOrder)}
              >
                <option value="risk">Highest risk first</option>
                <option value="oldest">Oldest first</option>
                <option value="expiring">Least time left first</option>
              </select>
              <select
                aria-label="Risk"
                value={risk}
                onChange={({ currentTarget }) => setRisk(currentTarget.value as RiskName | '')}
              >
                <option value="">Any risk</option>
                <option value="high">High</option>
                <option value="medium">Medium</option>
                <option value="low">Low</option>
              </select>
              <label class="check">
                <input type="checkbox" checked={isMine} onChange={() => setMine(!isMine)} /> Only mine
              </label>
            </div>
            {error !== undefined && <Problem text={error} retry={() => void load()} />}
            {items === undefined && error === undefined && <Busy />}
            {items !== undefined && shown.length === 0 && (
              <Empty>{items.length === 0 ? 'Nothing needs a decision.' : 'No matching requests.'}</Empty>
            )}
            {selected.length > 0 && (
              <BulkBar
                approvals={selected}
                onDone={() => {
                  setChosen(new Set());
                  void load();
                }}
                onClear={() => setChosen(new Set())}
              />
            )}
            <ul class="rows">
              {shown.map((approval) => (
                <Row
                  key={approval.id}
                  approval={approval}
                  isOpen={approval.id === openId}
                  isChosen={chosen.has(approval.id)}
                  now={now}
                  onChoose={
                    questionOf(approval) === 'effect' && inputOf(approval) === undefined
                      ? () => toggle(approval.id)
                      : undefined
                  }
                />
              ))}
            </ul>
          </>
        )}
      </section>
      <section class="pane detail" aria-label="Request">
        {openId === undefined ? (
          <Empty>
            Choose a request. Keys: j and k move, a approves, r rejects, c requests changes, ? shows all.
          </Empty>
        ) : (
          <ApprovalPage key={openId} id={openId} />
        )}
      </section>
    </div>
  );
};
