import { access, constants, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { NatsExport } from '@holdpoint/cli/host/commands';
import { consumersFor, streams } from '@holdpoint/contracts/bus/streams';
import { replaceFile } from '../../compose/hand-out.ts';
import { generateCredentials } from '../../credentials/generate.ts';
import { layout, natsUsers } from '../../credentials/layout.ts';
import { readPublicNkeys } from '../../credentials/read.ts';
import { codeOf, messageOf, Problem } from '../../local/problem.ts';
import { busAccess, withNames } from '../accounts.ts';
import type { BusAccess, Guest } from '../accounts.ts';
import { accountsText, importsText } from '../config.ts';
import { poolsIn } from '../pools.ts';
import { accountJwts, guestClaims, userCreds } from './jwts.ts';
import { keepBusKeys, keyPairIn } from './keys.ts';
import type { KeyPair } from '@nats-io/nkeys';

/** A file of the export, for the administrator of NATS. None holds a secret. */
type File = { readonly name: string; readonly text: string };
type Exported = { readonly files: readonly File[]; readonly next: readonly string[] };

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,30}$/;
const PREFIX = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/;
const ACCOUNT_KEY = /^A[A-Z2-7]{55}$/;

const guestIn = (text: string, form: NatsExport['as']): Guest => {
  const [account = '', prefix = '', ...more] = text.split('=');
  if (more.length > 0 || !PREFIX.test(prefix))
    throw new Problem(`--guest ${text}: write <account>=<prefix>, such as ACME=acme`);
  if (form === 'jwt' && !ACCOUNT_KEY.test(account))
    throw new Problem(`--guest ${text}: name the account by its public key, A…`);
  if (form === 'config' && !NAME.test(account))
    throw new Problem(`--guest ${text}: name the account as in the server configuration`);
  return { account, prefix };
};

const operatorKey = async (path: string | undefined): Promise<KeyPair | undefined> => {
  if (path === undefined) return undefined;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    throw new Problem(`--operator-seed: ${path} cannot be read`, { cause });
  }
  try {
    const key = keyPairIn(text);
    if (key.getPublicKey().startsWith('O')) return key;
  } catch {
    // The cause could show a part of the seed.
  }
  throw new Problem(`--operator-seed: ${path} holds no seed of an operator (SO…)`);
};

const asConfig = async (access: BusAccess, options: NatsExport): Promise<Exported> => {
  const publicKeys = await readPublicNkeys(options.credentials);
  const named = withNames(options.name, access);
  const accounts = {
    name: 'holdpoint-accounts.conf',
    text: `# Written by \`holdpoint nats export\`.\n${accountsText(named, publicKeys, options.streamReplicas)}\n`,
  };
  const guests = named.guests.map(({ account, imports }) => ({
    name: `guest-${account}.conf`,
    text: importsText(imports),
  }));
  return {
    files: [accounts, ...guests],
    next: [
      `add \`include "${accounts.name}"\` to the block \`accounts\` of the server configuration`,
      ...guests.map(
        ({ name }) => `add \`include "${name}"\` to the block of the account, or its lines to its imports`,
      ),
      'set `max_payload: 2MB`, and reload the server: nats-server --signal reload',
    ],
  };
};

const guestScript = (publicKey: string, claims: Awaited<ReturnType<typeof guestClaims>>): readonly File[] => {
  const folder = `guest-${publicKey.slice(0, 8)}`;
  const tokens = claims.map(({ token = '' }, i) => ({ name: `${folder}/${String(i + 1)}.jwt`, text: token }));
  const lines = claims.map(
    ({ name, local_subject: local = '' }, i) =>
      `nsc add import --account "$1" --name '${name}' --local-subject '${local}' --token "$here/${tokens[i]?.name ?? ''}"`,
  );
  const text = [
    '#!/bin/sh',
    '# Usage: guest script <account>',
    'set -e',
    'here=$(dirname "$0")',
    ...lines,
    '',
  ].join('\n');
  return [...tokens, { name: `${folder}.sh`, text }];
};

const asJwts = async (access: BusAccess, options: NatsExport): Promise<Exported> => {
  const { credentials, name, streamReplicas } = options;
  const operator = await operatorKey(options.operatorSeed);
  const keys = await keepBusKeys(credentials);
  const all = await accountJwts({ access, prefix: name, keys, operator, streamReplicas });
  const files = layout(credentials);
  for (const user of natsUsers) await replaceFile(files.natsCreds(user), await userCreds(user, keys), 0o600);
  const guests: File[] = [];
  for (const { account } of access.guests)
    guests.push(...guestScript(account, await guestClaims({ access, keys }, account)));
  const preload = all
    .map(({ name: label, publicKey, jwt }) => `  # ${label}\n  ${publicKey}: ${jwt}\n`)
    .join('');
  return {
    files: [
      ...all.map(({ name: label, jwt }) => ({ name: `${label}.jwt`, text: `${jwt}\n` })),
      ...(operator === undefined
        ? []
        : [{ name: 'holdpoint-accounts.conf', text: `# Written by \`holdpoint nats export\`.\n${preload}` }]),
      ...guests,
    ],
    next: [
      ...(operator === undefined
        ? all.map(({ name: label }) => `nsc import account --file ${join(options.out, `${label}.jwt`)}`)
        : [
            'add `include "holdpoint-accounts.conf"` to the block `resolver_preload`, or `nsc import` and push the JWTs',
          ]),
      ...guests
        .filter((each) => each.name.endsWith('.sh'))
        .map((each) => `sh ${join(options.out, each.name)} <account>`),
      ...(operator === undefined ? ['nsc push --all'] : []),
      `the services log in with ${join(files.natsDir, '<user>.creds')}`,
    ],
  };
};

/** Makes a folder that can be written. Returns the first folder that was missing. */
const takeFolder = async (folder: string): Promise<string | undefined> => {
  try {
    const made = await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    return made;
  } catch (cause) {
    throw new Problem(
      `cannot write to ${folder} (${codeOf(cause) ?? messageOf(cause)}): name another folder with --out`,
      { cause },
    );
  }
};

/**
 * Writes the accounts, users and permissions of Holdpoint for a NATS of others. Makes missing credentials first. Returns the
 * lines to print. Throws `Problem`, before any file of the export is written.
 */
export const exportNats = async (options: NatsExport): Promise<readonly string[]> => {
  if (!NAME.test(options.name)) throw new Problem('--name: letters, digits, - and _, at most 31');
  const guests = options.guests.map((text) => guestIn(text, options.as));
  const pools = poolsIn(options.pools);
  const made = await takeFolder(options.out);
  try {
    await generateCredentials(options.credentials);
    const access = busAccess({ streams, consumers: consumersFor(pools) }, { guests });
    const { files, next } = await (options.as === 'config' ? asConfig : asJwts)(access, options);
    for (const { name, text } of files) {
      const path = join(options.out, name);
      await mkdir(join(path, '..'), { recursive: true });
      await rm(path, { force: true });
      await replaceFile(path, text, 0o644);
    }
    return [
      ...files
        .filter(({ name }) => !name.includes('/'))
        .map(({ name }) => `wrote ${join(options.out, name)}`),
      '',
      'Next:',
      ...next.map((line) => `  ${line}`),
    ];
  } catch (error) {
    if (made !== undefined) await rm(made, { recursive: true });
    throw error instanceof Problem
      ? error
      : new Problem(`nothing exported: ${messageOf(error)}`, { cause: error });
  }
};
