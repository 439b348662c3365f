import type { AccessTokenView } from '@holdpoint/contracts/approval/access-token';
import type { PersonView } from '@holdpoint/contracts/approval/people';
import { useState } from 'preact/hooks';
import { Badge, Busy, Empty, Problem, Section, When } from '../parts/bits.tsx';
import { DaysField } from '../parts/days-field.tsx';
import { Safe } from '../parts/safe.tsx';
import type { LoadState } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { ChangeProblem, Confirm } from './confirm.tsx';
import { newSecret, ShownSecret } from './secret.tsx';
import { useChange } from './use-change.ts';

const DAY_MS = 86_400_000;
const DAYS = 90;

/** A token with its state at a time. */
export const isUsable = ({ status, expiresAt }: AccessTokenView, now: number): boolean =>
  status === 'active' && (expiresAt === undefined || expiresAt > now);

const CreateToken = ({
  owners,
  onDone,
}: {
  readonly owners: readonly string[];
  readonly onDone: () => void;
}) => {
  const { caller, me } = useSession();
  const { isBusy, problem, change } = useChange(onDone);
  const [name, setName] = useState('');
  const [owner, setOwner] = useState(me.name);
  const [days, setDays] = useState(DAYS);
  const [shown, setShown] = useState<{ readonly owner: string; readonly secret: string }>();
  const create = async (): Promise<void> => {
    const { secret, sha256 } = newSecret();
    const token = {
      name: name.trim(),
      sha256,
      expiresInMs: days * DAY_MS,
      ...(owner !== me.name && { principal: owner }),
    };
    const isMade = await change(
      (key) => caller.ask('approvals', 'token_create', token, { key }),
      'Token created.',
    );
    if (!isMade) return;
    setShown({ owner, secret });
    setName('');
  };
  return (
    <form
      class="decide settings-form"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <h4>Create a token that reads and decides approvals</h4>
      <div class="fields">
        <label>
          Name of the token
          <input
            required
            maxLength={100}
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        {me.administrator && (
          <label>
            Owner
            <select value={owner} onChange={({ currentTarget }) => setOwner(currentTarget.value)}>
              {owners.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
        )}
        <DaysField days={days} onDays={setDays} />
      </div>
      <button type="submit" class="primary" disabled={isBusy || name.trim() === ''}>
        Create and show token
      </button>
      <ChangeProblem text={problem} />
      {shown && <ShownSecret {...shown} onClose={() => setShown(undefined)} />}
      <p class="hint">
        For other scopes and agents use <code>holdpoint token create</code>.
      </p>
    </form>
  );
};

const Token = ({ token, onDone }: { readonly token: AccessTokenView; readonly onDone: () => void }) => {
  const { caller, me } = useSession();
  const { isBusy, problem, change } = useChange(onDone);
  const { id, name, principal, scopes, agent, expiresAt, usedAt, signIn } = token;
  const mayRevoke = mayDo(me, 'tokens:write') && (me.administrator || principal === me.name);
  return (
    <li data-token={id}>
      <p>
        <strong>
          <Safe text={name} />
        </strong>{' '}
        of <Safe text={principal} /> {agent !== undefined && <Badge word={[`Agent ${agent}`, 'warn']} />}{' '}
        {signIn === 'session' && <Badge word={['Console session', 'quiet']} />}
        {signIn === 'code' && <Badge word={['Unused sign-in link', 'quiet']} />}
      </p>
      <p class="dim">
        <code>{id}</code> · {scopes.join(', ')}
      </p>
      <p class="dim">
        {signIn === undefined &&
          (usedAt === undefined ? (
            'Never used'
          ) : (
            <>
              Last used <When at={usedAt} />
            </>
          ))}
        {signIn === undefined && ' · '}
        {expiresAt === undefined ? (
          'no expiry'
        ) : (
          <>
            expires <When at={expiresAt} />
          </>
        )}
      </p>
      {mayRevoke && (
        <Confirm
          label="Revoke"
          of={`${name} of ${principal}`}
          question="Calls with this token are refused from now on."
          isBusy={isBusy}
          onConfirm={() =>
            void change((key) => caller.ask('approvals', 'token_revoke', { id }, { key }), 'Token revoked.')
          }
        />
      )}
      <ChangeProblem text={problem} />
    </li>
  );
};

/** Valid tokens: one's own or, for administrators, all. */
export const Tokens = ({
  tokens,
  people,
  onChange,
}: {
  readonly tokens: LoadState<readonly AccessTokenView[]>;
  readonly people: readonly PersonView[];
  readonly onChange: () => void;
}) => {
  const { caller, me } = useSession();
  const usable = tokens.value?.filter((token) => isUsable(token, caller.now()));
  const owners = people.filter(({ status }) => status === 'active').map(({ name }) => name);
  return (
    <Section title="Tokens" aside={usable && String(usable.length)}>
      {tokens.error !== undefined && <Problem text={tokens.error} retry={tokens.reload} />}
      {usable === undefined && tokens.error === undefined && <Busy />}
      {usable?.length === 0 && <Empty>None. Tokens of the principals file are not listed.</Empty>}
      <ul class="plain">
        {usable?.map((token) => (
          <Token key={token.id} token={token} onDone={onChange} />
        ))}
      </ul>
      {mayDo(me, 'tokens:write') && me.agent === undefined ? (
        <CreateToken owners={owners.includes(me.name) ? owners : [me.name, ...owners]} onDone={onChange} />
      ) : (
        <p class="note">Your token lacks the scope tokens:write, so you cannot create or revoke tokens.</p>
      )}
    </Section>
  );
};
