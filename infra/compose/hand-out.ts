import { randomBytes } from 'node:crypto';
import { chmod, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { layout, roleOf } from '../credentials/layout.ts';
import type { CredentialsLayout, NatsUser } from '../credentials/layout.ts';
import { natsLoginFile } from '../credentials/read.ts';

type Secret = { readonly from: string; readonly name: string; readonly mode?: number };
type Login = (user: NatsUser) => string;
export type Share = { readonly to: string; readonly secrets: readonly Secret[] };

const OWNER_ALONE = 0o400;
/** PostgreSQL runs as a user of its own, who is in the group. */
const OWNER_AND_GROUP = 0o440;

const special = (
  files: CredentialsLayout,
  login: Login,
): Readonly<Record<ServiceName, readonly Secret[]>> => ({
  orchestrator: [
    { from: login('topology'), name: 'topology.seed' },
    { from: files.sealKey('orchestrator'), name: 'orchestrator.key.pem' },
  ],
  approvals: [
    { from: files.grantKey, name: 'grant.key.pem' },
    { from: files.principals, name: 'principals.json' },
    { from: files.joinSecret, name: 'join.secret' },
  ],
  executor: [{ from: files.joinSecret, name: 'join.secret' }],
  recovery: [{ from: files.sealKey('recovery'), name: 'recovery.key.pem' }],
});

/** The secrets of each container: only those that it needs. */
export const sharesOf = (credentialsDir: string): readonly Share[] => {
  const files = layout(credentialsDir);
  const login: Login = (user) => natsLoginFile(credentialsDir, user);
  const own = special(files, login);
  return [
    ...SERVICES.map((service) => ({
      to: service,
      secrets: [
        { from: login(service), name: 'nats.seed' },
        { from: files.postgresPassword(roleOf(service)), name: 'postgres.password' },
        { from: files.trust, name: 'trust.json' },
        ...own[service],
      ],
    })),
    {
      to: 'operator',
      secrets: [
        { from: login('operator'), name: 'nats.seed' },
        { from: files.operatorToken, name: 'operator.token' },
      ],
    },
    { to: 'worker', secrets: [{ from: login('worker'), name: 'nats.seed' }] },
    {
      to: 'postgres',
      secrets: [
        { from: files.postgresPassword('hp_admin'), name: 'hp_admin.password', mode: OWNER_AND_GROUP },
      ],
    },
  ];
};

/** A reader sees the old text or the new one, never half of either. */
export const replaceFile = async (path: string, text: string, mode: number): Promise<void> => {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { mode, flag: 'wx' });
    await chmod(draft, mode); // whatever the umask
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
};

const fill = async (folder: string, secrets: readonly Secret[]): Promise<void> => {
  for (const { from, name, mode = OWNER_ALONE } of secrets) {
    await replaceFile(join(folder, name), await readFile(from, 'utf8'), mode);
  }
  const wanted = new Set(secrets.map(({ name }) => name));
  for (const name of await readdir(folder)) {
    if (!wanted.has(name)) await rm(join(folder, name), { recursive: true });
  }
};

/** Puts into each folder below `root` exactly the secrets of whom it is mounted for. */
export const handOut = async (credentialsDir: string, root: string): Promise<void> => {
  for (const { to, secrets } of sharesOf(credentialsDir)) await fill(join(root, to), secrets);
};
