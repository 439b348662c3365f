#!/usr/bin/env node
import { pathToFileURL } from 'node:url';
import { main } from '@holdpoint/cli/main';
import { root } from '../local/folders.ts';
import { mainFile } from '../local/process/services.ts';

await main({
  dev: async (options) => {
    const { startHere } = await import('../local/start.ts');
    process.exit(await startHere(options));
  },
  serve: async (service) => {
    await import(pathToFileURL(mainFile(root, service)).href);
  },
});
