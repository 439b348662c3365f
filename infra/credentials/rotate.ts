import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { type CredentialsLayout, layout, type SealingService } from './layout.ts';
import { parseTrust, trustText } from './trust.ts';

/** Changes the key of a service in three steps without downtime. */
export type Step = 'add' | 'use' | 'retire';

/** Grants are valid for an hour after the decision. All grants of the old key must expire before it is retired. */
export const GRANT_VALID_MS = 3_600_000;

const PEM = /-----BEGIN ([A-Z ]+)-----[^-]+-----END [A-Z ]+-----\n?/g;

type Keys = {
  /** The first key signs. */
  readonly signing: readonly KeyObject[];
  /** Public halves of earlier signing keys. */
  readonly retired: readonly KeyObject[];
};

const publicOf = (key: KeyObject): KeyObject =>
  key.type === 'public' ? key : createPublicKey(key.export({ type: 'pkcs8', format: 'pem' }));
const publicPem = (key: KeyObject): string =>
  publicOf(key).export({ type: 'spki', format: 'pem' }).toString();
const privatePem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const readKeys = (text: string, path: string): Keys => {
  const keys = [...text.matchAll(PEM)].map(([pem, label]) =>
    label === 'PUBLIC KEY' ? createPublicKey(pem) : createPrivateKey(pem),
  );
  if (keys.some(({ asymmetricKeyType }) => asymmetricKeyType !== 'ed25519'))
    throw new Error(`${path} contains a key that is not Ed25519`);
  const signing = keys.filter(({ type }) => type === 'private');
  if (signing.length === 0) throw new Error(`${path} contains no private key`);
  return { signing, retired: keys.filter(({ type }) => type === 'public') };
};

/** Replaces the file as a whole: a concurrent reader gets the old or the new content. */
const replace = async (path: string, text: string): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const { uid, gid } = await stat(path);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      // A service may run as another user than the operator who changes its keys.
      await file.chown(uid, gid);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
};

/** The files with the keys of one service. */
type Files = { readonly all: CredentialsLayout; readonly of: SealingService; readonly key: string };

const writePrivate = ({ key }: Files, { signing, retired }: Keys): Promise<void> =>
  replace(key, [...signing.map(privatePem), ...retired.map(publicPem)].join(''));

const writePublic = async ({ all, of }: Files, { signing, retired }: Keys): Promise<void> => {
  const trust = parseTrust(await readFile(all.trust, 'utf8'));
  const known = new Set(trust.retired);
  const added = retired.map(publicPem).filter((pem) => !known.has(pem));
  const pems = signing.map(publicPem);
  await replace(all.trust, trustText({ ...trust, [of]: pems, retired: [...trust.retired, ...added] }));
  if (of === 'approvals') await replace(all.grantPublicKeys, pems.join(''));
};

const add = async (files: Files, { signing, retired }: Keys): Promise<string> => {
  if (signing.length > 1) throw new Error('another key exists already: continue with "use" or "retire"');
  const next = { signing: [...signing, generateKeyPairSync('ed25519').privateKey], retired };
  // Verifiers get the key first: they must know it before it signs.
  await writePublic(files, next);
  await writePrivate(files, next);
  return 'a new key was added; it signs nothing yet. Next: "use", when all services know it (30 s)';
};

const use = async (files: Files, { signing, retired }: Keys): Promise<string> => {
  const [old, next, ...more] = signing;
  if (old === undefined || next === undefined) throw new Error('there is no second key: start with "add"');
  if (more.length > 0) throw new Error(`${files.key} contains more than two keys: remove one by hand`);
  // A second reordering would make the old key sign again.
  if (await isSwapped(files, old)) throw new Error('the new key already signs: continue with "retire"');
  await writePrivate(files, { signing: [next, old], retired });
  return 'the new key signs. Next: "retire", in an hour, when the grants of the old key have expired';
};

/** The public keys stay in the order in which they were added. */
const isSwapped = async ({ all, of }: Files, first: KeyObject): Promise<boolean> =>
  parseTrust(await readFile(all.trust, 'utf8'))[of][0]?.trim() !== publicPem(first).trim();

const retire = async (
  files: Files,
  { signing, retired }: Keys,
  { now, early }: RotateOptions,
): Promise<string> => {
  const [first, old] = signing;
  if (first === undefined || old === undefined) throw new Error('there is no old key');
  if (!(await isSwapped(files, first))) throw new Error('the old key still signs: "use" the new one first');
  const { mtimeMs } = await stat(files.key);
  const left = Math.ceil((mtimeMs + GRANT_VALID_MS - now) / 60_000);
  if (left > 0 && early !== true)
    throw new Error(
      `grants and messages of the old key may be in use for another ${String(left)} min: wait, or use --early to refuse them`,
    );
  // Signers drop the key first: no new grant may have a key that executors refuse.
  const rest = { signing: [first], retired: [...retired, old] };
  await writePrivate(files, rest);
  await writePublic(files, rest);
  return `the old key was retired; its public half stays in ${basename(files.key)}`;
};

export type RotateOptions = {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Whether grants that are still good may be lost, as when the old key is in wrong hands. */
  readonly early?: boolean;
};

/**
 * Takes one step with the key of a service. Returns its description and the next step. Throws, and changes nothing, if
 * the step does not fit.
 */
export const rotateKey = async (
  dir: string,
  step: Step,
  options: RotateOptions,
  of: SealingService = 'approvals',
): Promise<string> => {
  if (options.early === true && step !== 'retire') throw new Error(`"${step}" takes no --early`);
  const all = layout(dir);
  const files: Files = { all, of, key: all.sealKey(of) };
  const keys = readKeys(await readFile(files.key, 'utf8'), files.key);
  switch (step) {
    case 'add':
      return add(files, keys);
    case 'use':
      return use(files, keys);
    case 'retire':
      return retire(files, keys, options);
  }
};
