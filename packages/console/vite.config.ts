import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The two places where contracts use Node.js: hashing, and the header of a signed text. */
const REPLACED: readonly (readonly [from: RegExp, to: string])[] = [
  [/^node:crypto$/, here('src/audit/node-crypto.ts')],
  [/^\.\/jws\.ts$/, here('src/audit/jws.ts')],
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
  // What a page of ours loads comes from files: the policy of its origin forbids everything inline.
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
