import type { RuleView } from '@holdpoint/contracts/approval/standing-rule';
import { Badge, Busy, Empty, Problem, Section, When } from '../parts/bits.tsx';
import { Safe } from '../parts/safe.tsx';
import type { LoadState } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { KINDS, type Word } from '../tasks/labels.ts';
import { ChangeProblem, Confirm } from './confirm.tsx';
import { useChange } from './use-change.ts';

const STATES: Readonly<Record<RuleView['status'], Word>> = {
  active: ['Active', 'good'],
  ended: ['Ended', 'quiet'],
  revoked: ['Revoked', 'quiet'],
};

/** What a rule approves, as one line. */
export const matchText = ({
  capability,
  kinds,
  target,
  arguments: args,
  requester,
  workflow,
}: RuleView['match']): string =>
  [
    capability,
    ...(target === undefined ? [] : [`on ${target}`]),
    ...(kinds === undefined ? [] : [`kind ${kinds.map((kind) => KINDS[kind].toLowerCase()).join(' or ')}`]),
    ...Object.entries(args ?? {}).map(([path, pattern]) => `${path} = ${pattern}`),
    ...(requester === undefined ? [] : [`requested by ${requester}`]),
    ...(workflow === undefined ? [] : [`workflow ${workflow}`]),
  ].join(', ');

/** The rule of the service itself is turned off by a setting. */
const BUILT_IN = 'holdpoint';

const Rule = ({ rule, onDone }: { readonly rule: RuleView; readonly onDone: () => void }) => {
  const { caller, me } = useSession();
  const { isBusy, problem, change } = useChange(onDone);
  const { id, name, match, status, author, uses, usesMax, addedAt, expiresAt, lastUsedAt } = rule;
  const isBuiltIn = author === BUILT_IN;
  const mayRevoke =
    status === 'active' && !isBuiltIn && mayDo(me, 'rules:write') && (me.administrator || author === me.name);
  return (
    <li data-rule={id}>
      <p>
        <strong>
          <Safe text={name} />
        </strong>{' '}
        <Badge word={STATES[status]} />
      </p>
      <p>
        Approves <Safe text={matchText(match)} />
      </p>
      <p class="dim">
        {isBuiltIn ? (
          'Built in'
        ) : (
          <>
            By <Safe text={author} />, <When at={addedAt} />
          </>
        )}{' '}
        · used {uses}
        {usesMax !== undefined && ` of ${String(usesMax)}`} times
        {lastUsedAt !== undefined && (
          <>
            , last <When at={lastUsedAt} />
          </>
        )}
        {expiresAt !== undefined && (
          <>
            {' '}
            · expires <When at={expiresAt} />
          </>
        )}
      </p>
      {mayRevoke && (
        <Confirm
          label="Revoke"
          of={name}
          question="Matching requests wait for a person from now on."
          isBusy={isBusy}
          onConfirm={() =>
            void change((key) => caller.ask('approvals', 'rule_revoke', { id }, { key }), 'Rule revoked.')
          }
        />
      )}
      <ChangeProblem text={problem} />
    </li>
  );
};

/** Standing rules that are active. */
export const Rules = ({
  rules,
  onChange,
}: {
  readonly rules: LoadState<readonly RuleView[]>;
  readonly onChange: () => void;
}) => (
  <Section title="Standing rules" aside={rules.value && String(rules.value.length)}>
    {rules.error !== undefined && <Problem text={rules.error} retry={rules.reload} />}
    {rules.value === undefined && rules.error === undefined && <Busy />}
    {rules.value?.length === 0 && <Empty>None. Add one while you approve a request.</Empty>}
    <ul class="plain">
      {rules.value?.map((rule) => (
        <Rule key={rule.id} rule={rule} onDone={onChange} />
      ))}
    </ul>
  </Section>
);
