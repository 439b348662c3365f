import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { digestShown } from '@holdpoint/contracts/approval/shown-effect';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { useState } from 'preact/hooks';
import { CallError } from '../session/call.ts';
import { createKey, useSession } from '../session/context.ts';
import { fateOf } from './sent-decision.ts';
import { refusalText } from './use-decision.ts';

const VERBS: readonly (readonly [Verb, string, string])[] = [
  ['approve', 'Approve', 'go'],
  ['reject', 'Reject', 'stop'],
  ['request_changes', 'Request changes', ''],
];
/** Limit of the service. */
const AT_ONCE = 200;

/** Applies the same decision to all selected requests, each bound to its shown digest. */
export const BulkBar = ({
  approvals,
  onDone,
  onClear,
}: {
  readonly approvals: readonly ApprovalView[];
  readonly onDone: () => void;
  readonly onClear: () => void;
}) => {
  const { caller, me, say } = useSession();
  const [verb, setVerb] = useState<(typeof VERBS)[number]>();
  const [comment, setComment] = useState('');
  const [isBusy, setBusy] = useState(false);
  const chosen = approvals.slice(0, AT_ONCE);

  /** After a lost answer, checks which decisions have arrived. */
  const check = async (decision: Verb): Promise<number> => {
    let counted = 0;
    for (const { id } of chosen) {
      const view = await caller.ask('approvals', 'get', { id });
      if (fateOf(view, { by: me.name, decision }).kind === 'counted') counted += 1;
    }
    return counted;
  };
  const send = async ([decision]: (typeof VERBS)[number]): Promise<void> => {
    setBusy(true);
    try {
      const { items } = await caller.ask(
        'approvals',
        'decide_many',
        {
          items: chosen.map((view) => ({ id: view.id, digest: digestShown(view) })),
          decision,
          ...(comment.trim() !== '' && { comment: comment.trim() }),
        },
        { key: createKey() },
      );
      const refused = items.flatMap((item) => ('error' in item ? [item.error.message] : []));
      say(
        refused.length === 0
          ? `Decided on ${String(items.length)} requests.`
          : `Decided on ${String(items.length - refused.length)}; ${String(refused.length)} refused: ${refused[0] ?? ''}`,
        refused.length === 0 ? 'good' : 'bad',
      );
    } catch (error) {
      const isLost = error instanceof CallError && error.unknown;
      if (!isLost) say(refusalText(error), 'bad');
      else
        await check(decision)
          .then((counted) =>
            say(
              `Answer lost: ${String(counted)} of ${String(chosen.length)} decisions arrived. Requests that are still listed were not decided.`,
              'bad',
            ),
          )
          .catch(() =>
            say('Holdpoint cannot be reached. Requests that stay listed were not decided.', 'bad'),
          );
    } finally {
      setBusy(false);
      onDone();
    }
  };

  return (
    <form
      class="bulk"
      aria-label="Bulk decision"
      onSubmit={(event) => {
        event.preventDefault();
        if (verb && !isBusy) void send(verb);
      }}
    >
      <span>
        <strong>{chosen.length}</strong> selected
      </span>
      {VERBS.map((each) => (
        <button
          key={each[0]}
          type="button"
          class={`choice ${each[2]}`}
          aria-pressed={verb === each}
          disabled={isBusy}
          onClick={() => setVerb(each)}
        >
          {each[1]}
        </button>
      ))}
      <button type="button" class="link" onClick={onClear} disabled={isBusy}>
        Clear
      </button>
      {verb && (
        <div class="row wide">
          <input
            aria-label="Comment for all"
            placeholder="Comment (optional)"
            maxLength={10_000}
            value={comment}
            onInput={({ currentTarget }) => setComment(currentTarget.value)}
          />
          <button type="submit" class={`primary ${verb[2]}`} disabled={isBusy}>
            {verb[1]} {chosen.length}
          </button>
        </div>
      )}
    </form>
  );
};
