import { statfs } from 'node:fs/promises';
import type { AddSample } from '@holdpoint/runtime/observability/polled-metrics';

/** How full the disks are that the executor writes to, by what it calls the folder. */
export const sampleVolumes = (folders: Readonly<Record<string, string>>, sample: AddSample): void =>
  sample(
    { disk_used_ratio: { help: 'Share of a volume that is used: 0 to 1', labels: ['volume'] } },
    async () => ({
      disk_used_ratio: await Promise.all(
        Object.entries(folders).map(async ([volume, folder]) => {
          const { blocks, bavail } = await statfs(folder);
          return { labels: { volume }, value: blocks === 0 ? 0 : 1 - bavail / blocks };
        }),
      ),
    }),
  );
