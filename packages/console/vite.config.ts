import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Replacements for Node.js modules in contracts: hashing, and the header of a JWS. */
const REPLACED: readonly (readonly [from: RegExp, to: string])[] = [
  [/^node:crypto$/, here('src/audit/node-crypto.ts')],
  [/\/jws\.ts$/, here('src/audit/jws.ts')],
];

const contractsInBrowser = (): Plugin => ({
  name: 'contracts-in-browser',
  enforce: 'pre',
  resolveId: (source, importer) =>
    importer?.includes('/contracts/src/') === true
      ? REPLACED.find(([from]) => from.test(source))?.[1]
      : undefined,
});

// oxlint-disable-next-line import/no-default-export -- the bundler asks for it
export default defineConfig({
  root: here('.'),
  base: './',
  // All assets are files: the content security policy forbids inline content.
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [contractsInBrowser()],
});
