import { registerHooks } from 'node:module';

// Loaded before a service (`--import`): its process sends and stores what the next release may add.

const FILE = '/packages/runtime/src/engine/core.ts';
const NEXT = new URL('../../kit/bus/next-release.ts', import.meta.url).href;

const CHANGES: readonly (readonly [before: string, after: string])[] = [
  ['seals.seal(messages)', 'seals.seal(messages.flatMap(sentByNext))'],
  ['\n    kinds,\n', '\n    kinds: kindsOfNext(kinds),\n'],
];

const ADDED = `import { decidedByNext, sentByNext } from ${JSON.stringify(NEXT)};
const kindOfNext = (kind: any): any => ({
  ...kind,
  decider: { ...kind.decider, decide: (...all: any) => decidedByNext(kind.decider.decide(...all)) },
});
const kindsOfNext = (kinds: any): any =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, kindOfNext(kind)]));
`;

const nextOf = (source: string): string => {
  let changed = source;
  for (const [before, after] of CHANGES) {
    if (changed.split(before).length !== 2) throw new Error(`${FILE} does not contain ${before} once`);
    changed = changed.replace(before, after);
  }
  return ADDED + changed;
};

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(FILE)) return loaded;
    return { ...loaded, source: nextOf(Buffer.from(loaded.source as Uint8Array).toString('utf8')) };
  },
});
