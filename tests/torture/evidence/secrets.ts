import { readFile } from 'node:fs/promises';
import { layout, natsUsers, postgresRoles } from '@holdpoint/infra/credentials/layout';
import type { Deployment, Text } from '../deployment/deployment.ts';
import type { Searched } from './evidence.ts';

/** The first line of every PEM file is the same; this one is unique. */
const KEY_LINE = 1;

/** By name: every secret of the deployment. */
export const readSecrets = async ({
  credentialsDir,
  people,
}: Deployment): Promise<ReadonlyMap<string, string>> => {
  const files = layout(credentialsDir);
  const read = async (file: string): Promise<string> => (await readFile(file, 'utf8')).trim();
  const secrets = new Map(people.map(({ name, token }) => [`token of ${name}`, token]));
  for (const role of postgresRoles)
    secrets.set(`password of ${role}`, await read(files.postgresPassword(role)));
  for (const user of natsUsers) secrets.set(`seed of ${user}`, await read(files.natsSeed(user)));
  const pem = (await read(files.grantKey)).split('\n')[KEY_LINE];
  if (pem === undefined || pem === '') throw new Error(`${files.grantKey} holds no key`);
  return secrets.set('grant key', pem);
};

export const foundIn = (text: Buffer | string, secrets: ReadonlyMap<string, string>): readonly string[] =>
  [...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => name);

/** Searches a text in parts, including secrets across two parts. */
export const searchText = async (
  { name, parts }: Text,
  secrets: ReadonlyMap<string, string>,
): Promise<Searched> => {
  const overlap = Math.max(...[...secrets.values()].map(({ length }) => length));
  const found = new Set<string>();
  let bytes = 0;
  let end: Buffer = Buffer.alloc(0);
  for await (const part of parts()) {
    bytes += part.length;
    const text = Buffer.concat([end, part]);
    for (const secret of foundIn(text, secrets)) found.add(secret);
    end = text.subarray(-overlap);
  }
  return { where: name, bytes, found: [...found] };
};
