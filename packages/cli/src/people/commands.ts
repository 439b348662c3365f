import type { AccessTokenView, Scope } from '@holdpoint/contracts/approval/access-token';
import { AddPerson, type PersonView } from '@holdpoint/contracts/approval/people';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { type Command, InvalidArgumentError } from 'commander';
import type { Client } from '../bus/client.ts';
import { as, collect } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { fileSink } from '../kit/sinks.ts';
import { UsageError } from '../kit/usage-error.ts';
import { instant, listing } from '../output/columns.ts';
import { allTokens, asExpiry, asScope, stateText, usedText } from '../token/commands.ts';
import { newSecret, showSecret, writeInto } from '../token/secret.ts';

const { name: Name, displayName: DisplayName, groups: Groups } = AddPerson.shape;

const asGroups = (text: string, before?: readonly string[]): readonly string[] => {
  const { success, data, error } = Groups.safeParse(collect(text, before));
  if (success) return data;
  throw new InvalidArgumentError(error.issues.map(({ message }) => message).join('; '));
};

type Added = {
  readonly group?: readonly string[];
  readonly displayName?: string;
  readonly scope?: readonly Scope[];
  readonly expires?: number;
  readonly token: boolean;
  readonly out?: string;
  readonly json?: true;
};

const named = ({ name, displayName }: PersonView): string =>
  displayName === undefined ? name : `${name} (${displayName})`;

const personText = (person: PersonView): string =>
  `${named(person)}: groups ${person.groups.join(', ') || 'none'}${person.administrator ? ', administrator' : ''}`;

const addAdd = (people: Command, session: Session): void => {
  const { use, lines, json, directory } = session;
  const add = async (client: Client, name: string, options: Added): Promise<undefined> => {
    const { group = [], displayName, scope, expires, out } = options;
    const secret = newSecret();
    const sink = out === undefined ? undefined : fileSink(out, directory());
    const made = await writeInto(sink, secret, async () => {
      const person = await client.call('approvals', 'person_add', {
        name,
        groups: [...group],
        ...(displayName !== undefined && { displayName }),
      });
      if (!options.token) return { person };
      const token = await client.call('approvals', 'token_create', {
        name: `first token of ${name}`,
        sha256: sha256Of(secret),
        principal: name,
        ...(scope !== undefined && { scopes: [...scope] }),
        ...(expires !== undefined && { expiresInMs: expires }),
      });
      return { person, token };
    });
    const { person, token } = made;
    if (options.json) json({ ...made, ...(token && sink === undefined && { secret }) });
    else if (token === undefined) lines([personText(person)]);
    else
      showSecret(
        session,
        [personText(person), `  token ${token.id}: ${token.scopes.join(', ')}`],
        secret,
        out,
      );
    return undefined;
  };
  withExample(
    people
      .command('add')
      .description('add a person and create a first token for them; its secret is shown once')
      .argument('<name>', 'name of the person', as(Name))
      .option('--group <group>', 'group of the person, which audiences name (repeatable)', asGroups)
      .option('--display-name <text>', 'name for people to read', as(DisplayName.unwrap()))
      .option('--scope <scope>', 'scope of the token (repeatable; default: read and decide)', asScope)
      .option('--expires <time>', 'lifetime of the token, such as 12h or 30d (default: none)', asExpiry)
      .option('--no-token', 'create no token')
      .option('--out <file>', 'write the secret to a new file that only you can read')
      .option('--json', 'print the API responses as JSON, including the secret unless --out is used')
      .action((name: string, options: Added) => {
        if (!options.token && (options.out ?? options.scope ?? options.expires) !== undefined)
          throw new UsageError('--no-token takes no --out, --scope or --expires');
        return use((client) => add(client, name, options));
      }),
    'people add ada --group release',
    'people add ada --group release --scope approvals:read --scope approvals:decide --expires 90d --out ada.token',
  );
};

const tokenText = (token: AccessTokenView, now: number): string =>
  `  ${token.id}  ${token.name}${token.agent === undefined ? '' : `, agent ${token.agent}`}: ${token.scopes.join(', ')}; ` +
  `${token.signIn === undefined ? `last used ${usedText(token)}; ` : ''}${stateText(token, now)}`;

const stateOf = ({ status, source, removedBy, removedAt }: PersonView): string => {
  if (status === 'active') return source === 'file' ? 'in the principals file' : 'active';
  return `removed by ${removedBy ?? 'unknown'}${removedAt === undefined ? '' : ` ${instant(removedAt)}`}`;
};

const listText = (
  people: readonly PersonView[],
  tokens: readonly AccessTokenView[],
  now: number,
): readonly string[] => {
  const [header = '', ...rows] = listing(
    ['Name', 'Groups', 'Administrator', 'State'],
    people.map((person) => [
      named(person),
      person.groups.join(', ') || 'none',
      person.administrator ? 'yes' : 'no',
      stateOf(person),
    ]),
  );
  const valid = tokens.filter(({ status }) => status === 'active');
  return [
    header,
    ...rows.flatMap((row, i) => [
      row,
      ...valid.filter(({ principal }) => principal === people[i]?.name).map((token) => tokenText(token, now)),
    ]),
  ];
};

const addList = (people: Command, { use, lines, json, now }: Session): void => {
  withExample(
    people
      .command('list')
      .description('list people with their groups and valid tokens; without administration, only yourself')
      .option('--all', 'include removed people')
      .option('--json', 'print people and tokens as JSON')
      .action((options: { all?: true; json?: true }) =>
        use(async (client) => {
          const [{ items }, tokens] = await Promise.all([
            client.call('approvals', 'person_list', {}),
            allTokens(client),
          ]);
          const shown = items.filter(({ status }) => options.all === true || status === 'active');
          if (options.json) json({ people: shown, tokens });
          else lines(shown.length === 0 ? ['no people'] : listText(shown, tokens, now()));
          return undefined;
        }),
      ),
    'people list',
  );
};

type Changed = {
  readonly group?: readonly string[];
  readonly groups: boolean;
  readonly displayName?: string;
  readonly json?: true;
};

const addChange = (people: Command, { use, lines, json }: Session): void => {
  withExample(
    people
      .command('change')
      .description('replace the groups or the display name of a person')
      .argument('<name>', 'name of the person', as(Name))
      .option('--group <group>', 'group of the person; replaces all groups (repeatable)', asGroups)
      .option('--no-groups', 'take the person out of all groups')
      .option('--display-name <text>', 'name for people to read', as(DisplayName.unwrap()))
      .option('--json', 'print the API response as JSON')
      .action((name: string, { group, groups, displayName, json: asJson }: Changed) => {
        const next = groups ? group : [];
        if (next === undefined && displayName === undefined)
          throw new UsageError('nothing to change: add --group, --no-groups or --display-name');
        return use(async (client) => {
          const person = await client.call('approvals', 'person_change', {
            name,
            ...(next !== undefined && { groups: [...next] }),
            ...(displayName !== undefined && { displayName }),
          });
          if (asJson) json(person);
          else lines([personText(person)]);
          return undefined;
        });
      }),
    'people change ada --group release --group on-call',
  );
};

const addRemove = (people: Command, { use, lines, json }: Session): void => {
  withExample(
    people
      .command('remove')
      .description('remove a person, and revoke their tokens and standing rules at once')
      .argument('<name>', 'name of the person', as(Name))
      .option('--json', 'print the API response as JSON')
      .action((name: string, options: { json?: true }) =>
        use(async (client) => {
          const person = await client.call('approvals', 'person_remove', { name });
          if (options.json) json(person);
          else lines([`${person.name} is removed; their tokens and rules are revoked`]);
          return undefined;
        }),
      ),
    'people remove ada',
  );
};

export const addPeople = (program: Command, session: Session): void => {
  const people = withExample(
    program
      .command('people')
      .alias('person')
      .description('add, list, change and remove people, who decide with tokens'),
    'people list',
  );
  addAdd(people, session);
  addList(people, session);
  addChange(people, session);
  addRemove(people, session);
};
