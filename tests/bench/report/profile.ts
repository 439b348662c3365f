import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { round } from './percentiles.ts';

const CpuProfile = z.object({
  nodes: z.array(
    z.object({ id: z.int(), callFrame: z.object({ functionName: z.string(), url: z.string() }) }),
  ),
  samples: z.array(z.int()),
  timeDeltas: z.array(z.int()),
});

/** The category of a function's own time: a library, a part of ours, or the engine. */
const partOf = ({ functionName, url }: { readonly functionName: string; readonly url: string }): string => {
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (/^(writev|writeBuffer|writeUtf8String|writeLatin1String)$/.test(functionName))
    return 'system calls: socket writes';
  const library = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].at(-1)?.[1];
  if (library !== undefined) return library;
  const own = /\/((?:services|packages)\/[^/]+)\//.exec(url)?.[1];
  if (own !== undefined) return own;
  if (/crypto/.test(url)) return 'node: crypto';
  return url === '' ? 'node: native' : 'node: other';
};

export type Shares = Readonly<Record<string, number>>;

/** CPU time of a profiled process in percent by category, without idle time. */
export const sharesOf = (text: string): Shares => {
  const { nodes, samples, timeDeltas } = CpuProfile.parse(JSON.parse(text));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const spent = new Map<string, number>();
  let total = 0;
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id);
    if (frame === undefined || frame.functionName === '(idle)' || frame.functionName === '(program)')
      continue;
    const micros = timeDeltas[index] ?? 0;
    total += micros;
    spent.set(partOf(frame), (spent.get(partOf(frame)) ?? 0) + micros);
  }
  const percent = [...spent].map(([part, micros]) => [part, round((micros / total) * 100, 1)] as const);
  return Object.fromEntries(percent.filter(([, share]) => share >= 1).toSorted(([, a], [, b]) => b - a));
};

/** The profiles of the services in a folder. */
export const readProfiles = async (folder: string): Promise<Readonly<Record<string, Shares>>> => {
  const found: Record<string, Shares> = {};
  for (const service of await readdir(folder)) {
    for (const file of await readdir(join(folder, service))) {
      found[service] = sharesOf(await readFile(join(folder, service, file), 'utf8'));
    }
  }
  return found;
};
