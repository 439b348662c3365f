import type { Deployment, Usage } from './deployment/deployment.ts';
import { holdFor } from './fault-runner.ts';

const LOOK_EVERY_MS = 5_000;

/** Polls the usage of every instance and keeps the peak. */
export const watchUsage = (deployment: Deployment): { readonly stop: () => Promise<readonly Usage[]> } => {
  const peaks = new Map<string, Usage>();
  const stopped = new AbortController();
  const look = async (): Promise<void> => {
    for (const usage of await deployment.usage()) {
      const { instance, rssBytes, openFiles } = usage;
      const peak = peaks.get(instance) ?? usage;
      peaks.set(instance, {
        instance,
        rssBytes: Math.max(peak.rssBytes, rssBytes),
        openFiles: Math.max(peak.openFiles, openFiles),
      });
    }
  };
  const looking = (async () => {
    while (!stopped.signal.aborted) {
      await look();
      await holdFor(LOOK_EVERY_MS, stopped.signal);
    }
  })();
  return {
    stop: async () => {
      stopped.abort();
      await looking;
      await look();
      return [...peaks.values()];
    },
  };
};
