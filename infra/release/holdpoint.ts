#!/usr/bin/env node
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { root } from '../local/folders.ts';

// This process stays beside the services for hours, and has little to do. The flag must precede the modules.
if (process.argv[2] === 'dev') setFlagsFromString('--optimize-for-size');
const { main } = await import('@holdpoint/cli/main');

await main({
  dev: async (options) => {
    const { startHere } = await import('../local/start.ts');
    process.exit(await startHere(options));
  },
  exportNats: async (options) => {
    const { exportNats } = await import('../nats/export/export.ts');
    return exportNats(options);
  },
  serve: async (services) => {
    const { serve } = await import('../serve.ts');
    await serve(services.length > 0 ? services.join(',') : (process.env['HOLDPOINT_SERVICES'] ?? ''));
  },
  migrations: (service) =>
    readdirSync(join(root, 'services', service, 'migrations'))
      .flatMap((file) => /^(\d{4}_\w+)\.(?:ts|js)$/.exec(file)?.[1] ?? [])
      .toSorted(),
});
