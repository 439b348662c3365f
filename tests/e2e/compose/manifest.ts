import { z } from 'zod';

/** The part of `docker compose config --format json` that is looked at. */
export const Manifest = z.object({
  services: z.record(
    z.string(),
    z.object({
      cap_drop: z.array(z.string()).default([]),
      security_opt: z.array(z.string()).default([]),
      read_only: z.boolean().default(false),
      privileged: z.boolean().default(false),
      mem_limit: z.coerce.number().optional(),
      pids_limit: z.number().optional(),
      networks: z.record(z.string(), z.unknown()).default({}),
      ports: z.array(z.object({ host_ip: z.string().optional(), target: z.number() })).default([]),
      volumes: z
        .array(z.object({ type: z.string(), source: z.string(), read_only: z.boolean().default(false) }))
        .default([]),
    }),
  ),
});
export type Manifest = z.infer<typeof Manifest>;
export type ComposeService = Manifest['services'][string];

/** Runs to its end before anything else, without a network; it makes the secrets that the others get. */
const MAKER = 'prepare';

const holdersOf = ({ services }: Manifest, volume: string): readonly string[] =>
  Object.entries(services)
    .filter(([name, { volumes }]) => name !== MAKER && volumes.some(({ source }) => source === volume))
    .map(([name]) => name);

/** Who mounts which volume with secrets, apart from the one that fills them. */
export const secretHolders = (manifest: Manifest): Readonly<Record<string, readonly string[]>> => {
  const volumes = Object.values(manifest.services).flatMap((service) => service.volumes);
  const secret = volumes.map(({ source }) => source).filter((name) => /^(secrets-|credentials$)/.test(name));
  return Object.fromEntries([...new Set(secret)].toSorted().map((name) => [name, holdersOf(manifest, name)]));
};

/** What a container may do beyond what it needs. */
export const liberties = (name: string, service: ComposeService): readonly string[] => {
  const faults: readonly (readonly [boolean, string])[] = [
    [service.privileged, 'is privileged'],
    [!service.cap_drop.includes('ALL'), 'keeps capabilities'],
    [!service.security_opt.includes('no-new-privileges:true'), 'may gain privileges'],
    [!service.read_only, 'can write its root'],
    [service.mem_limit === undefined, 'may take all memory'],
    [service.pids_limit === undefined, 'may start any number of processes'],
    [service.ports.some(({ host_ip }) => host_ip !== '127.0.0.1'), 'is open to other machines'],
    [
      name !== MAKER &&
        service.volumes.some(({ source, read_only }) => source.startsWith('secrets-') && !read_only),
      'can change its secrets',
    ],
  ];
  return faults.filter(([is]) => is).map(([, what]) => `${name} ${what}`);
};
