#!/usr/bin/env node
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { root } from '../local/folders.ts';

const dev = async (options: { readonly sample: boolean }): Promise<never> => {
  const { startHere } = await import('../local/start.ts');
  process.exit(await startHere(options));
};

const [command, ...options] = process.argv.slice(2);
if (command === 'dev') {
  // This process stays beside the services for hours, and has little to do. The flags must precede the modules, and it needs few.
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--semi-space-growth-factor=1');
  if (options.every((option) => option === '--no-sample')) await dev({ sample: options.length === 0 });
}
const { main } = await import('@holdpoint/cli/main');

await main({
  dev,
  exportNats: async (options) => {
    const { exportNats } = await import('../nats/export/export.ts');
    return exportNats(options);
  },
  serve: async (services) => {
    const { serve } = await import('../serve.ts');
    await serve(services.length > 0 ? services.join(',') : (process.env['HOLDPOINT_SERVICES'] ?? ''));
  },
  provision: {
    credentials: async (folder) => {
      const { provisionCredentials } = await import('../credentials/generate.ts');
      return provisionCredentials(resolve(folder));
    },
    rotate: async (folder, { step, service, early }) => {
      const { rotateKey } = await import('../credentials/rotate.ts');
      return rotateKey(resolve(folder), step, { now: Date.now(), early }, service);
    },
    nats: async (options) => {
      const { serverConfig } = await import('../nats/config.ts');
      return serverConfig(options);
    },
    postgres: async () => {
      const { readConfig } = await import('../postgres/config.ts');
      const { provision } = await import('../postgres/provision.ts');
      const { applied } = await provision({ ...(await readConfig(process.env)), root });
      return Object.entries(applied)
        .map(([name, made]) => `${name}: ${made.length === 0 ? 'up to date' : `applied ${made.join(', ')}`}`)
        .join('\n');
    },
  },
  migrations: (service) =>
    readdirSync(join(root, 'services', service, 'migrations'))
      .flatMap((file) => /^(\d{4}_\w+)\.(?:ts|js)$/.exec(file)?.[1] ?? [])
      .toSorted(),
});
