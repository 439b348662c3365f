import type { Usage } from './deployment.ts';

const ANSWER_WITHIN_MS = 2_000;

const valueOf = (metrics: string, name: string): number | undefined => {
  const line = new RegExp(`^${name}(?:\\{[^}]*\\})? ([0-9.e+]+)$`, 'm').exec(metrics)?.[1];
  return line === undefined ? undefined : Number(line);
};

const usageOf = async (instance: string, url: string): Promise<readonly Usage[]> => {
  try {
    const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const metrics = await response.text();
    const rssBytes = valueOf(metrics, 'process_resident_memory_bytes');
    const openFiles = valueOf(metrics, 'process_open_fds') ?? 0;
    return rssBytes === undefined ? [] : [{ instance, rssBytes, openFiles }];
  } catch {
    return []; // it is down or paused at this moment; the next look finds it
  }
};

/** The usage that instances report. An instance without an answer is left out. */
export const usageAt = async (
  instances: readonly { readonly name: string; readonly url: string }[],
): Promise<readonly Usage[]> =>
  (await Promise.all(instances.map(({ name, url }) => usageOf(name, url)))).flat();
