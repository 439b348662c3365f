import type { PersonView } from '@holdpoint/contracts/approval/people';
import { useState } from 'preact/hooks';
import { Badge, Busy, Empty, Problem, Section, When } from '../parts/bits.tsx';
import { Safe } from '../parts/safe.tsx';
import type { LoadState } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { ChangeProblem, Confirm } from './confirm.tsx';
import { newSecret, ShownSecret } from './secret.tsx';
import { useChange } from './use-change.ts';

/** Names between commas. */
export const groupsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== ''),
  ),
];

const AddPerson = ({ onDone }: { readonly onDone: () => void }) => {
  const { caller, me } = useSession();
  const { isBusy, problem, change } = useChange(onDone);
  const [name, setName] = useState('');
  const [displayName, setDisplayName] = useState('');
  const [groups, setGroups] = useState('');
  const [shown, setShown] = useState<{ readonly owner: string; readonly secret: string }>();
  const mayCreateToken = mayDo(me, 'tokens:write');
  const add = async (): Promise<void> => {
    const { secret, sha256 } = newSecret();
    let owner = name;
    const isAdded = await change(async (key) => {
      const person = await caller.ask(
        'approvals',
        'person_add',
        {
          name,
          groups: groupsIn(groups),
          ...(displayName.trim() !== '' && { displayName: displayName.trim() }),
        },
        { key },
      );
      owner = person.name;
      if (!mayCreateToken) return;
      const token = { name: `first token of ${owner}`, sha256, principal: owner };
      await caller.ask('approvals', 'token_create', token, { key: `${key}-token` });
    }, 'Person added.');
    if (!isAdded) return;
    if (mayCreateToken) setShown({ owner, secret });
    setName('');
    setDisplayName('');
    setGroups('');
  };
  return (
    <form
      class="decide settings-form"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <h4>Add a person</h4>
      <div class="fields">
        <label>
          Name
          <input
            required
            maxLength={100}
            autocapitalize="none"
            spellcheck={false}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <label>
          Groups, separated by commas
          <input
            maxLength={1_000}
            spellcheck={false}
            value={groups}
            onInput={({ currentTarget }) => setGroups(currentTarget.value)}
          />
        </label>
        <label>
          Display name (optional)
          <input
            maxLength={100}
            value={displayName}
            onInput={({ currentTarget }) => setDisplayName(currentTarget.value)}
          />
        </label>
      </div>
      <button type="submit" class="primary" disabled={isBusy || name.trim() === ''}>
        {mayCreateToken ? 'Add and show token' : 'Add'}
      </button>
      <ChangeProblem text={problem} />
      {shown && <ShownSecret {...shown} onClose={() => setShown(undefined)} />}
    </form>
  );
};

const Person = ({ person, onDone }: { readonly person: PersonView; readonly onDone: () => void }) => {
  const { caller, me } = useSession();
  const { isBusy, problem, change } = useChange(onDone);
  const { name, displayName, groups, source, administrator, addedBy, addedAt } = person;
  const mayRemove = me.administrator && mayDo(me, 'people:write') && source === 'store' && name !== me.name;
  return (
    <li data-person={name}>
      <p>
        <strong>
          <Safe text={displayName ?? name} />
        </strong>{' '}
        {displayName !== undefined && (
          <code>
            <Safe text={name} />
          </code>
        )}{' '}
        {administrator && <Badge word={['Administrator', 'busy']} />}
        {name === me.name && <Badge word={['You', 'quiet']} />}
      </p>
      <p class="dim">
        Groups: <Safe text={groups.join(', ') || 'none'} />
        {source === 'file'
          ? '. Listed in the principals file.'
          : addedAt !== undefined && (
              <>
                . Added by <Safe text={addedBy ?? ''} />, <When at={addedAt} />.
              </>
            )}
      </p>
      {mayRemove && (
        <Confirm
          label="Remove"
          of={name}
          question="Their tokens and standing rules are revoked at once."
          isBusy={isBusy}
          onConfirm={() =>
            void change(
              (key) => caller.ask('approvals', 'person_remove', { name }, { key }),
              `${name} was removed.`,
            )
          }
        />
      )}
      <ChangeProblem text={problem} />
    </li>
  );
};

/** People, and the form that adds one. */
export const People = ({
  people,
  onChange,
}: {
  readonly people: LoadState<readonly PersonView[]>;
  readonly onChange: () => void;
}) => {
  const { me } = useSession();
  const active = people.value?.filter(({ status }) => status === 'active');
  return (
    <Section title="People" aside={active && String(active.length)}>
      {people.error !== undefined && <Problem text={people.error} retry={people.reload} />}
      {active === undefined && people.error === undefined && <Busy />}
      {active?.length === 0 && <Empty>None.</Empty>}
      {!me.administrator && (
        <p class="note">
          Only administrators see and change all people. You are in: {me.groups.join(', ') || 'no group'}.
        </p>
      )}
      <ul class="plain">
        {active?.map((person) => (
          <Person key={person.name} person={person} onDone={onChange} />
        ))}
      </ul>
      {me.administrator && mayDo(me, 'people:write') && <AddPerson onDone={onChange} />}
      {me.administrator && !mayDo(me, 'people:write') && (
        <p class="note">Your token lacks the scope people:write, so you cannot change people.</p>
      )}
    </Section>
  );
};
