import { z } from 'zod';

/** The checked part of `docker compose config --format json`. */
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

/** This service creates the secrets before any other service starts; it has no network. */
const MAKER = 'prepare';

const holdersOf = ({ services }: Manifest, volume: string): readonly string[] =>
  Object.entries(services)
    .filter(([name, { volumes }]) => name !== MAKER && volumes.some(({ source }) => source === volume))
    .map(([name]) => name);

/** Lists which services mount which secret volumes, apart from the service that fills them. */
export const secretHolders = (manifest: Manifest): Readonly<Record<string, readonly string[]>> => {
  const volumes = Object.values(manifest.services).flatMap((service) => service.volumes);
  const secret = volumes.map(({ source }) => source).filter((name) => /^(secrets-|credentials$)/.test(name));
  return Object.fromEntries([...new Set(secret)].toSorted().map((name) => [name, holdersOf(manifest, name)]));
};

/** Lists the rights of a container that it does not need. */
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
