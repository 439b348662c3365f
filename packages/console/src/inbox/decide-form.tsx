import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import { mayDecide } from '@holdpoint/contracts/workflow/audience';
import { policyOf } from '@holdpoint/contracts/workflow/approval-policy';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { DaysField } from '../parts/days-field.tsx';
import { useKeys } from '../parts/use-keys.ts';
import { mayDo, useSession } from '../session/context.ts';
import { InputForm } from './input-form.tsx';
import { inputOf, optionsFor } from './question.ts';
import { canRemember, DAYS, ruleFrom } from './remember.ts';
import { type Sending, useDecision } from './use-decision.ts';

const KEYS: Readonly<Partial<Record<Choice, string>>> = { approve: 'a', reject: 'r', request_changes: 'c' };
const TONES: Readonly<Partial<Record<Choice, string>>> = {
  approve: 'go',
  applied: 'go',
  reject: 'stop',
  cancel: 'stop',
};

export const SendingNote = ({ sending }: { readonly sending: Sending }) =>
  sending.state === 'idle' ? null : (
    <p class={`note ${sending.state}`} role={sending.state === 'refused' ? 'alert' : 'status'}>
      {sending.state === 'sending' ? 'Sending …' : sending.text}
    </p>
  );

/** Why this user cannot decide, as far as known before trying. */
const hindrance = (approval: ApprovalView, me: ReturnType<typeof useSession>['me']): string | undefined => {
  if (!mayDo(me, 'approvals:decide')) return 'Your token is read-only.';
  if (policyOf(approval).fourEyes && approval.requestedBy === me.name)
    return 'You requested this yourself: another approver must decide.';
  if (mayDecide(approval, me)) return undefined;
  const demanded = (approval.floor?.within ?? []).map((names) => ` and in ${names.join(', ')}`).join('');
  return `Only ${approval.audience.join(', ')}${demanded} may decide this.`;
};

/** Confirms the decision before it is sent. */
export const DecideForm = ({
  approval,
  onSettled,
}: {
  readonly approval: ApprovalView;
  readonly onSettled: () => void;
}) => {
  const { me } = useSession();
  const { sending, decide, forget } = useDecision(onSettled);
  const [choice, setChoice] = useState<Choice>();
  const [comment, setComment] = useState('');
  const [remember, setRemember] = useState(false);
  const [target, setTarget] = useState(approval.effect.target);
  const [days, setDays] = useState(DAYS);
  const box = useRef<HTMLTextAreaElement>(null);
  const options = optionsFor(approval);
  const input = inputOf(approval);
  const hindered = hindrance(approval, me);
  const isBusy = sending.state === 'sending' || sending.state === 'looking';

  const choose = (next: Choice): void => {
    if (isBusy || hindered !== undefined) return;
    forget();
    setChoice(next);
  };
  // Focus before the next key: further typing belongs to the comment and must not decide.
  useLayoutEffect(() => {
    if (choice !== undefined) box.current?.focus();
  }, [choice]);
  useKeys(
    Object.fromEntries(
      options.flatMap(({ choice: each }) => {
        const key = input === undefined ? KEYS[each] : undefined;
        return key === undefined ? [] : [[key, () => choose(each)]];
      }),
    ),
  );

  if (approval.status !== 'pending') return <SendingNote sending={sending} />;
  if (hindered !== undefined) return <p class="note">{hindered}</p>;
  if (input !== undefined)
    return (
      <>
        <InputForm
          input={input}
          busy={isBusy}
          onAnswer={(response, comment) =>
            void decide(approval, {
              decision: 'respond',
              response,
              ...(comment !== '' && { comment: comment }),
            })
          }
        />
        <SendingNote sending={sending} />
      </>
    );

  const chosen = options.find(({ choice: each }) => each === choice);
  const rule = remember && choice === 'approve' ? ruleFrom(approval, target, days) : undefined;
  const isIncomplete = remember && choice === 'approve' && rule === undefined;
  const send = (): void => {
    if (chosen === undefined || isIncomplete) return;
    void decide(approval, {
      decision: chosen.choice,
      ...(comment.trim() !== '' && { comment: comment.trim() }),
      ...(rule && { remember: rule }),
    });
  };
  return (
    <form
      class="decide"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div class="choices" role="group" aria-label="Your decision">
        {options.map(({ choice: each, label, follows }) => (
          <button
            key={each}
            type="button"
            class={`choice ${TONES[each] ?? ''}`}
            aria-pressed={choice === each}
            title={follows}
            disabled={isBusy}
            onClick={() => choose(each)}
          >
            {label}
            {KEYS[each] !== undefined && <kbd aria-hidden="true">{KEYS[each]}</kbd>}
          </button>
        ))}
      </div>
      {chosen !== undefined && sending.state !== 'done' && (
        <div class="confirm">
          <p>
            <strong>{chosen.label}:</strong> {chosen.follows}.
          </p>
          <label>
            Comment{chosen.choice === 'request_changes' ? ' (the changes you want)' : ' (optional)'}
            <textarea
              ref={box}
              rows={2}
              maxLength={10_000}
              value={comment}
              onInput={({ currentTarget }) => setComment(currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
                if (event.key === 'Escape') setChoice(undefined);
              }}
            />
          </label>
          {chosen.choice === 'approve' && canRemember(approval) && mayDo(me, 'rules:write') && (
            <fieldset>
              <label class="check">
                <input type="checkbox" checked={remember} onChange={() => setRemember(!remember)} />
                Approve and add a rule that approves similar requests
              </label>
              {remember && (
                <div class="row">
                  <label>
                    Target (* matches any text)
                    <input
                      value={target}
                      maxLength={512}
                      onInput={({ currentTarget }) => setTarget(currentTarget.value)}
                    />
                  </label>
                  <DaysField days={days} onDays={setDays} />
                </div>
              )}
              {isIncomplete && <p class="note refused">The rule would not match this request.</p>}
            </fieldset>
          )}
          <div class="row">
            <button
              type="submit"
              class={`primary ${TONES[chosen.choice] ?? ''}`}
              disabled={isBusy || isIncomplete}
            >
              {remember && chosen.choice === 'approve' ? 'Approve and add rule' : `Confirm: ${chosen.label}`}
            </button>
            <button type="button" disabled={isBusy} onClick={() => setChoice(undefined)}>
              Cancel
            </button>
            <span class="hint">Ctrl+Enter sends, Esc goes back</span>
          </div>
        </div>
      )}
      <SendingNote sending={sending} />
    </form>
  );
};
