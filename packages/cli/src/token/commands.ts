import { type AccessTokenView, CreateAccessToken, Scope } from '@holdpoint/contracts/approval/access-token';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { AccessTokenId } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { fileSink } from '../kit/sinks.ts';
import { as, collect, duration } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { columns, instant, listing } from '../output/columns.ts';
import { fitLines } from '../output/painted.ts';
import { everyPage } from '../bus/every-page.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { newSecret, showSecret, writeInto } from './secret.ts';

const {
  name: Name,
  principal: Principal,
  groups: Groups,
  claims: Claims,
  agent: Agent,
  expiresInMs: Expires,
} = CreateAccessToken.shape;

export const asScope = (text: string, before: readonly Scope[] = []): readonly Scope[] => {
  const { success, data } = Scope.safeParse(text);
  if (success) return [...before, data];
  throw new InvalidArgumentError(`expected one of ${Scope.options.join(', ')}`);
};

/** Parses a value by a schema of the contracts. Throws a usage error. */
const fit = <Value>(schema: z.ZodType<Value>, value: unknown): Value => {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new InvalidArgumentError(error.issues.map(({ message }) => message).join('; '));
};

const asGroups = (text: string, before?: readonly string[]): readonly string[] =>
  fit(Groups.unwrap(), collect(text, before));

const asClaims = (text: string): string[] => fit(Claims.unwrap(), text.split(','));

export const asExpiry = (text: string): number => fit(Expires.unwrap(), duration(text));

type Create = {
  readonly for?: string;
  readonly scope?: readonly Scope[];
  readonly group?: readonly string[];
  readonly claims?: readonly string[];
  readonly agent?: string;
  readonly expires?: number;
  readonly out?: string;
  readonly json?: true;
};

const requestFor = (name: string, sha256: string, options: Create): CreateAccessToken => ({
  name,
  sha256,
  ...(options.for !== undefined && { principal: options.for }),
  ...(options.scope !== undefined && { scopes: [...options.scope] }),
  ...(options.claims !== undefined && { claims: [...options.claims] }),
  ...(options.group !== undefined && { groups: [...options.group] }),
  ...(options.agent !== undefined && { agent: options.agent }),
  ...(options.expires !== undefined && { expiresInMs: options.expires }),
});

export const stateText = ({ status, expiresAt, revokedBy, signIn }: AccessTokenView, now: number): string => {
  if (status === 'revoked') return `revoked by ${revokedBy ?? 'unknown'}`;
  if (expiresAt === undefined) return 'no expiry';
  const what = signIn === undefined ? '' : signIn === 'code' ? 'sign-in link, ' : 'console session, ';
  return `${what}${expiresAt <= now ? 'expired' : 'expires'} ${instant(expiresAt)}`;
};

/** Uses of sessions are not recorded. */
export const usedText = ({ usedAt, signIn }: AccessTokenView): string =>
  usedAt === undefined ? (signIn === undefined ? 'never' : '-') : instant(usedAt);

/** With the capabilities to which the scope `effects:claim` is limited. */
const scopesText = ({ scopes, claims }: AccessTokenView): string =>
  scopes
    .map((scope) => (scope === 'effects:claim' && claims ? `${scope} (${claims.join(', ')})` : scope))
    .join(', ');

const createdText = (token: AccessTokenView, now: number): readonly string[] => [
  `${token.id} ${token.name}: token of ${token.agent === undefined ? '' : `the agent ${token.agent} of `}${token.principal}`,
  `  scopes ${scopesText(token)}; ${stateText(token, now)}`,
];

/** The names without a registration. One may follow; claims under a mistyped name would never get an order. */
const unregisteredIn = async (client: Client, names: readonly string[]): Promise<readonly string[]> => {
  const answers = await Promise.all(
    names.map((name) => client.call('approvals', 'capability_list', { name })),
  );
  return names.filter((_, place) => answers[place]?.items.length === 0);
};

const addCreate = (group: Command, session: Session): void => {
  const { use, json, directory, now, warn } = session;
  const create = async (client: Client, name: string, options: Create): Promise<undefined> => {
    for (const each of await unregisteredIn(client, options.claims ?? []))
      warn(`${each} is not registered yet: register it before a program claims it`);
    const secret = newSecret();
    const sink = options.out === undefined ? undefined : fileSink(options.out, directory());
    const token = await writeInto(sink, secret, () =>
      client.call('approvals', 'token_create', requestFor(name, sha256Of(secret), options)),
    );
    if (options.json) json(sink === undefined ? { ...token, secret } : token);
    else showSecret(session, createdText(token, now()), secret, options.out);
    return undefined;
  };
  withExample(
    group
      .command('create')
      .description('create an API token; its secret is generated here and shown once, only its hash is sent')
      .argument('<name>', 'name of the token', as(Name))
      .option(
        '--for <principal>',
        'owner of the token; administrators only (default: you)',
        as(Principal.unwrap()),
      )
      .option('--scope <scope>', `${Scope.options.join(', ')} (repeatable)`, asScope)
      .option(
        '--claims <names>',
        'remote capabilities whose effects the token may claim, separated by commas (default: all)',
        asClaims,
      )
      .option('--group <group>', 'group of an owner who is not in the directory (repeatable)', asGroups)
      .option(
        '--agent <name>',
        'agent that acts for the owner; it cannot decide requests of itself or the owner',
        as(Agent.unwrap()),
      )
      .option('--expires <time>', 'lifetime, such as 12h or 30d (default: none)', asExpiry)
      .option('--out <file>', 'write the secret to a new file that only you can read')
      .option('--json', 'print the API response as JSON, including the secret unless --out is used')
      .action((name: string, options: Create) => use((client) => create(client, name, options))),
    'token create laptop --expires 30d --out token',
    'token create refunds --claims refund --out token',
    'token create release-bot --for release-bot --group releasers --scope approvals:decide',
  );
};

const PAGES_MAX = 40;

export const allTokens = (client: Client): Promise<readonly AccessTokenView[]> =>
  everyPage(PAGES_MAX, (cursor) => client.call('approvals', 'token_list', cursor));

const addListAndRevoke = (token: Command, { use, lines, json, now, terminal }: Session): void => {
  withExample(
    token
      .command('list')
      .description('list your API tokens; as an administrator, all API tokens')
      .option('--json', 'print the tokens as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const items = await allTokens(client);
          if (options.json) json({ items });
          else if (items.length === 0) lines(['no tokens']);
          else
            lines(
              fitLines(
                listing(
                  ['Token', 'Owner', 'Name', 'State', 'Last used', 'Scopes'],
                  items.map((token) => [
                    token.id,
                    token.principal,
                    token.name,
                    stateText(token, now()),
                    usedText(token),
                    scopesText(token),
                  ]),
                ),
                terminal(),
              ),
            );
          return undefined;
        }),
      ),
    'token list',
  );
  withExample(
    token
      .command('revoke')
      .description('revoke an API token immediately and permanently')
      .argument('<id>', 'token ID', as(AccessTokenId))
      .option('--json', 'print the API response as JSON')
      .action((id: AccessTokenId, options: { json?: true }) =>
        use(async (client) => {
          const token = await client.call('approvals', 'token_revoke', { id });
          if (options.json) json(token);
          else lines([`${token.id} of ${token.principal}, called ${token.name}: revoked`]);
          return undefined;
        }),
      ),
    'token revoke k-7h2k9m1x4c',
  );
};

const whoamiText = ({
  name,
  groups,
  roles,
  scopes,
  administrator,
  agent,
}: ApiResponse<'approvals', 'whoami'>): readonly string[] =>
  columns([
    ['user', administrator ? `${name}, an administrator` : name],
    ...(agent === undefined ? [] : [['acting as', `the agent ${agent}`]]),
    ['groups', groups.join(', ') || 'none'],
    ...(roles.length > 0 ? [['roles', roles.join(', ')]] : []),
    ['scopes', scopes.join(', ')],
  ]);

export const addToken = (program: Command, session: Session): void => {
  const token = withExample(
    program.command('token').alias('tokens').description('create, list and revoke API tokens'),
    'token list',
  );
  addCreate(token, session);
  addListAndRevoke(token, session);
};

export const addWhoami = (program: Command, { use, lines, json }: Session): void => {
  withExample(
    program
      .command('whoami')
      .description('show the owner, groups and scopes of your token')
      .option('--json', 'print the API response as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'whoami', {});
          if (options.json) json(answer);
          else lines(whoamiText(answer));
          return undefined;
        }),
      ),
    'whoami',
  );
};
