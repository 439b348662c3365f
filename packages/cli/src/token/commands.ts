import { randomBytes } from 'node:crypto';
import { type AccessTokenView, CreateAccessToken, Scope } from '@holdpoint/contracts/approval/access-token';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { AccessTokenId } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { fileSink, type Sink } from '../kit/sinks.ts';
import { as, collect, duration } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { columns, instant } from '../output/columns.ts';
import { everyPage } from '../bus/every-page.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

const SECRET_BYTES = 32;

const newSecret = (): string => `hpt_${randomBytes(SECRET_BYTES).toString('base64url')}`;

const {
  name: Name,
  principal: Principal,
  groups: Groups,
  agent: Agent,
  expiresInMs: Expires,
} = CreateAccessToken.shape;

const asScope = (text: string, before: readonly Scope[] = []): readonly Scope[] => {
  const { success, data } = Scope.safeParse(text);
  if (success) return [...before, data];
  throw new InvalidArgumentError(`one of ${Scope.options.join(', ')}`);
};

/** What fits a schema of the contracts; anything else is a mistake on the command line. */
const fit = <Value>(schema: z.ZodType<Value>, value: unknown): Value => {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw new InvalidArgumentError(error.issues.map(({ message }) => message).join('; '));
};

const asGroups = (text: string, before?: readonly string[]): readonly string[] =>
  fit(Groups.unwrap(), collect(text, before));

const asExpiry = (text: string): number => fit(Expires.unwrap(), duration(text));

type Create = {
  readonly for?: string;
  readonly scope?: readonly Scope[];
  readonly group?: readonly string[];
  readonly agent?: string;
  readonly expires?: number;
  readonly out?: string;
  readonly json?: true;
};

const asked = (name: string, sha256: string, options: Create): CreateAccessToken => ({
  name,
  sha256,
  ...(options.for !== undefined && { principal: options.for }),
  ...(options.scope !== undefined && { scopes: [...options.scope] }),
  ...(options.group !== undefined && { groups: [...options.group] }),
  ...(options.agent !== undefined && { agent: options.agent }),
  ...(options.expires !== undefined && { expiresInMs: options.expires }),
});

const stateText = ({ status, expiresAt, revokedBy }: AccessTokenView, now: number): string => {
  if (status === 'revoked') return `revoked by ${revokedBy ?? 'somebody'}`;
  if (expiresAt === undefined) return 'until it is revoked';
  return expiresAt <= now ? `expired ${instant(expiresAt)}` : `until ${instant(expiresAt)}`;
};

const madeText = (token: AccessTokenView, now: number): readonly string[] => [
  `${token.id} is a token of ${token.agent === undefined ? '' : `the agent ${token.agent} of `}${token.principal}, called ${token.name}`,
  `  good for ${token.scopes.join(', ')}, ${stateText(token, now)}`,
];

const KEEP_IT =
  'This is its only showing: keep it where nobody else can read it, and name it with HOLDPOINT_TOKEN or HOLDPOINT_TOKEN_FILE.';

/** The file is there before the token is, so that none is made whose secret cannot be kept. */
const writeInto = async <Made>(
  sink: Sink | undefined,
  secret: string,
  make: () => Promise<Made>,
): Promise<Made> => {
  try {
    sink?.write(Buffer.from(`${secret}\n`));
    const made = await make();
    sink?.done();
    return made;
  } catch (error) {
    sink?.failed();
    throw error;
  }
};

const addCreate = (tokens: Command, session: Session): void => {
  const { use, lines, json, warn, directory, now, terminal } = session;
  const create = async (client: Client, name: string, options: Create): Promise<undefined> => {
    const secret = newSecret();
    const sink = options.out === undefined ? undefined : fileSink(options.out, directory());
    const token = await writeInto(sink, secret, () =>
      client.call('approvals', 'token_create', asked(name, sha256Of(secret), options)),
    );
    const text = madeText(token, now());
    if (options.json) json(sink === undefined ? { ...token, secret } : token);
    else if (sink !== undefined) lines([...text, `  its secret is in ${options.out ?? ''}`]);
    else if (terminal() === undefined) {
      // Into a pipe goes the secret alone.
      for (const line of text) warn(line);
      lines([secret]);
    } else lines([...text, `  ${secret}`, KEEP_IT]);
    return undefined;
  };
  withExample(
    tokens
      .command('create')
      .description('make an API token; its secret is made here and shown once, and only its hash is sent')
      .argument('<name>', 'what it is for', as(Name))
      .option(
        '--for <principal>',
        'whose it is, for administrators; you, when left out',
        as(Principal.unwrap()),
      )
      .option('--scope <scope>', `${Scope.options.join(', ')}; may be repeated`, asScope)
      .option('--group <group>', 'of somebody whom the directory does not know; may be repeated', asGroups)
      .option(
        '--agent <name>',
        'for an agent of that principal, which may decide on nothing that either of them has asked for',
        as(Agent.unwrap()),
      )
      .option('--expires <time>', 'such as 12h or 30d', asExpiry)
      .option('--out <file>', 'write the secret into a new file that only you can read')
      .option('--json', 'print the answer as it came, with the secret unless it is in a file')
      .action((name: string, options: Create) => use((client) => create(client, name, options))),
    'tokens create laptop --expires 30d --out token',
    'tokens create release-bot --for release-bot --group releasers --scope approvals:decide',
  );
};

/** Far more than there are tokens; what is beyond is not asked for. */
const PAGES_MAX = 40;

const allTokens = (client: Client): Promise<readonly AccessTokenView[]> =>
  everyPage(PAGES_MAX, (place) => client.call('approvals', 'token_list', place));

const addKept = (tokens: Command, { use, lines, json, now }: Session): void => {
  withExample(
    tokens
      .command('list')
      .description('list your API tokens; those of everybody, for administrators')
      .option('--json', 'print them as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const items = await allTokens(client);
          if (options.json) json({ items });
          else if (items.length === 0) lines(['no tokens']);
          else
            lines(
              columns(
                items.map((token) => [
                  token.id,
                  token.principal,
                  token.name,
                  stateText(token, now()),
                  token.scopes.join(', '),
                ]),
              ),
            );
          return undefined;
        }),
      ),
    'tokens list',
  );
  withExample(
    tokens
      .command('revoke')
      .description('make an API token worthless, at once and for good')
      .argument('<id>', 'id of the token, as the list has it', as(AccessTokenId))
      .option('--json', 'print the answer as it came')
      .action((id: AccessTokenId, options: { json?: true }) =>
        use(async (client) => {
          const token = await client.call('approvals', 'token_revoke', { id });
          if (options.json) json(token);
          else lines([`${token.id} of ${token.principal}, called ${token.name}, is revoked`]);
          return undefined;
        }),
      ),
    'tokens revoke k-7h2k9m1x4c',
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
    ['you are', administrator ? `${name}, an administrator` : name],
    ...(agent === undefined ? [] : [['acting as', `the agent ${agent}`]]),
    ['groups', groups.join(', ') || 'none'],
    ...(roles.length > 0 ? [['roles', roles.join(', ')]] : []),
    ['good for', scopes.join(', ')],
  ]);

export const addTokens = (program: Command, session: Session): void => {
  const { use, lines, json } = session;
  const tokens = withExample(
    program.command('tokens').description('make, see and revoke API tokens'),
    'tokens list',
  );
  addCreate(tokens, session);
  addKept(tokens, session);
  withExample(
    program
      .command('whoami')
      .description('show whose your token is, and what it is good for')
      .option('--json', 'print the answer as it came')
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
