import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import { isAsShown } from '@holdpoint/contracts/approval/shown-effect';
import { knownArgs } from '@holdpoint/contracts/effect/capabilities';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import { Facts, Section } from '../parts/bits.tsx';
import { Diff } from '../parts/diff.tsx';
import { Long, Safe } from '../parts/safe.tsx';
import { INTERRUPTED, KINDS, STATUSES, textFor, wordFor } from '../tasks/labels.ts';
import { type EffectPart, partsOf } from './effect-parts.ts';

const Part = ({ part }: { readonly part: EffectPart }) => {
  switch (part.kind) {
    case 'diff':
      return <Diff text={part.text} />;
    case 'commits':
      return (
        <ul class="commits">
          {part.commits.map(({ sha, subject }) => (
            <li key={sha}>
              <code>{sha.slice(0, 12)}</code> <Safe text={subject} />
            </li>
          ))}
        </ul>
      );
    case 'command':
    case 'text':
      return <Long text={part.text} />;
  }
};

/** The complete effect: users decide on exactly this. */
export const EffectView = ({ approval }: { readonly approval: ApprovalView }) => {
  // A question has no effect of its own.
  if (['stuck', 'input'].includes(questionOf(approval))) return null;
  const { effect, digest } = approval;
  const parts = partsOf(effect);
  const { repository } = knownArgs(effect.uses, effect.args);
  return (
    <>
      <Section title={questionOf(approval) === 'in_doubt' ? 'Effect in doubt' : 'What will happen'}>
        <Facts
          rows={[
            [
              'Does',
              <>
                <strong>{KINDS[effect.kind]}</strong> using{' '}
                <code>
                  <Safe text={effect.uses} />
                </code>
              </>,
            ],
            [
              'On',
              <code class="target">
                <Safe text={effect.target} />
              </code>,
            ],
            ['In repository', typeof repository === 'string' && <Safe text={repository} />],
            ['If interrupted', textFor(INTERRUPTED, effect.effectClass)],
            [
              'Effect key',
              <code>
                <Safe text={effect.idempotencyKey} />
              </code>,
            ],
            [
              'Digest',
              <code class="digest" title="SHA-256 of the whole effect: only an effect with this digest runs">
                {digest}
                {!isAsShown(approval) && (
                  <strong class="bad"> does not belong to this effect: decide nothing</strong>
                )}
              </code>,
            ],
          ]}
        />
        {parts.map((part, i) => (
          <div key={i} class="part">
            <h4>
              <Safe text={part.name} />
            </h4>
            <Part part={part} />
          </div>
        ))}
      </Section>
      <Section title="All arguments" open={parts.length === 0}>
        <Long text={JSON.stringify(effect.args, undefined, 2)} />
      </Section>
    </>
  );
};

/** The changes since the last review. */
export const SinceLast = ({ previous }: { readonly previous: ApprovalDetail['previous'] }) =>
  previous === undefined ? null : (
    <Section title="Changes since the last review">
      <p>
        The last request (<a href={`#/inbox/${encodeURIComponent(previous.id)}`}>{previous.id}</a>) was{' '}
        {wordFor(STATUSES, previous.status)[0].toLowerCase()}
        {previous.comment !== undefined && (
          <>
            :{' '}
            <q>
              <Safe text={previous.comment} />
            </q>
          </>
        )}
      </p>
      {previous.changes === '' ? <p>No changes.</p> : <Diff text={previous.changes} />}
    </Section>
  );
