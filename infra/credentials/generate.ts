import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { nkeyOf } from '@holdpoint/contracts/bus/nkey';
import { createUser } from '@nats-io/nkeys';
import { recordInTurn } from '../local/record.ts';
import { layout, natsUsers, postgresRoles, sealingServices } from './layout.ts';
import type { CredentialsLayout, NatsUser } from './layout.ts';
import { keep, privateFolder, readIfPresent } from './keep.ts';
import type { Kept } from './keep.ts';
import { parseTrust, trustOf, trustText } from './trust.ts';

type Note = (path: string, kept: Kept) => string;

const secret = () => randomBytes(32).toString('base64url');

const natsUser = async (files: CredentialsLayout, user: NatsUser, note: Note): Promise<void> => {
  const seedFile = files.natsSeed(user);
  const seed = note(
    seedFile,
    // No line end: some clients take the whole file for the seed.
    await keep(seedFile, () => new TextDecoder().decode(createUser().getSeed())),
  );
  const publicKey = nkeyOf(seed.trim()).publicKey;
  const pubFile = files.natsPublicKey(user);
  const recorded = note(pubFile, await keep(pubFile, () => `${publicKey}\n`)).trim();
  if (recorded !== publicKey) {
    throw new Error(`${pubFile} is not the public key of ${seedFile}: delete it and run this again`);
  }
};

const newKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Public half of a key file, made first if the file is missing. */
const publicKeyIn = async (path: string, note: Note): Promise<string> => {
  const key = createPrivateKey(note(path, await keep(path, newKey)));
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`${path} does not hold an Ed25519 key`);
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
};

const keys = async (files: CredentialsLayout, note: Note): Promise<void> => {
  const own = await recordInTurn(sealingServices, (service) => publicKeyIn(files.sealKey(service), note));
  const grants = note(files.grantPublicKeys, await keep(files.grantPublicKeys, () => own.approvals));
  // A file may list more keys than this one, while an old one is being replaced; without this one nothing is good.
  if (!grants.includes(own.approvals.trim()))
    throw new Error(`${files.grantPublicKeys} lacks the public key of ${files.grantKey}: add it`);
  const trust = note(files.trust, await keep(files.trust, () => trustText(trustOf(own))));
  const listed = parseTrust(trust);
  for (const service of sealingServices)
    if (!listed[service].some((pem) => pem.trim() === own[service].trim()))
      throw new Error(`${files.trust} lacks the public key of ${files.sealKey(service)}: add it`);
};

export const tokenDigest = (token: string): string => createHash('sha256').update(token.trim()).digest('hex');

/** Two people: under four eyes another person than the requester has to decide. */
const people = async (files: CredentialsLayout, note: Note): Promise<void> => {
  const [token, principals] = await Promise.all([
    readIfPresent(files.operatorToken),
    readIfPresent(files.principals),
  ]);
  // A list of principals without a token is the operator's own: a new token would belong to no one on it.
  if (principals !== undefined && token === undefined) return;
  const kept = note(files.operatorToken, await keep(files.operatorToken, () => `hpt_${secret()}\n`));
  // A list that is there already may not know the second person.
  if (principals !== undefined) return;
  const second = note(files.approverToken, await keep(files.approverToken, () => `hpt_${secret()}\n`));
  const list = [
    { name: 'operator', groups: ['operators'], tokenSha256: tokenDigest(kept) },
    { name: 'approver', groups: ['operators'], tokenSha256: tokenDigest(second) },
  ];
  note(
    files.principals,
    await keep(files.principals, () => `${JSON.stringify({ principals: list }, null, 2)}\n`),
  );
};

/** Creates missing files of a credentials folder and keeps existing ones. Returns the created files. */
export const generateCredentials = async (dir: string): Promise<readonly string[]> => {
  const files = layout(dir);
  const created: string[] = [];
  const note: Note = (path, kept) => {
    if (kept.created) created.push(path);
    return kept.text;
  };
  await privateFolder(files.dir);
  await privateFolder(files.natsDir);
  await privateFolder(files.postgresDir);
  for (const user of natsUsers) await natsUser(files, user, note);
  for (const role of postgresRoles) {
    const path = files.postgresPassword(role);
    note(path, await keep(path, () => `${secret()}\n`));
  }
  await keys(files, note);
  note(files.joinSecret, await keep(files.joinSecret, () => `${secret()}\n`));
  await people(files, note);
  return created;
};

/** Makes missing credentials. Returns a line for each. */
export const provisionCredentials = async (dir: string): Promise<string> => {
  const created = await generateCredentials(dir);
  return created.length === 0
    ? `${dir} is complete: nothing was changed`
    : created.map((path) => `made ${path}`).join('\n');
};
