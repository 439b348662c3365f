import { useState } from 'preact/hooks';
import { Facts, Section } from '../parts/bits.tsx';
import { everyPage } from '../parts/every-page.ts';
import { Safe } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';
import { hindrance, isOn, turn } from './notifications.ts';
import { People } from './people.tsx';
import { Rules } from './rules.tsx';
import { Tokens } from './tokens.tsx';

const PAGE = 100;
const PAGES_MAX = 20;

const You = () => {
  const { me } = useSession();
  const [isNotified, setNotified] = useState(isOn);
  const hindered = hindrance();
  return (
    <Section title="You">
      <Facts
        rows={[
          ['Name', <Safe text={me.name} />],
          ['Groups', <Safe text={me.groups.join(', ') || 'none'} />],
          ['Roles', me.roles.length > 0 && <Safe text={me.roles.join(', ')} />],
          ['Acts as agent', me.agent !== undefined && <Safe text={me.agent} />],
          ['Administrator', me.administrator ? 'yes' : 'no'],
          ['Scopes', me.scopes.join(', ')],
        ]}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={isNotified}
          disabled={hindered !== undefined}
          onChange={() => void turn(!isNotified).then(setNotified)}
        />
        Notify me in this browser of requests that I may decide
      </label>
      {hindered !== undefined && <p class="hint">{hindered}</p>}
    </Section>
  );
};

/** The user, people, tokens and standing rules. */
export const SettingsPage = () => {
  const { caller } = useSession();
  const people = useLoad(
    async (signal) => (await caller.ask('approvals', 'person_list', {}, { signal })).items,
    [],
  );
  const tokens = useLoad(
    (signal) =>
      everyPage(PAGES_MAX, (after) =>
        caller.ask(
          'approvals',
          'token_list',
          { limit: PAGE, ...(after !== undefined && { after }) },
          { signal },
        ),
      ),
    [],
  );
  const rules = useLoad(
    (signal) =>
      everyPage(PAGES_MAX, (after) =>
        caller.ask(
          'approvals',
          'rule_list',
          { limit: PAGE, status: 'active', ...(after !== undefined && { after }) },
          { signal },
        ),
      ),
    [],
  );
  const reload = (): void => {
    people.reload();
    tokens.reload();
    rules.reload();
  };
  return (
    <div class="single settings">
      <h2 tabIndex={-1}>Settings</h2>
      <You />
      <People people={people} onChange={reload} />
      <Tokens tokens={tokens} people={people.value ?? []} onChange={reload} />
      <Rules rules={rules} onChange={reload} />
    </div>
  );
};
