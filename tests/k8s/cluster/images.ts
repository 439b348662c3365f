import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { root } from '@holdpoint/infra/local/folders';
import { MIGRATION, NEXT_MIGRATION } from '../../kit/stack/next-release.ts';
import { run } from './cluster.ts';

export const REPOSITORY = 'holdpoint';
const [NOW, NEXT] = ['test-now', 'test-next'];

const imageOf = (tag: string): string => `${REPOSITORY}:${tag}`;
export const TAGS = { now: NOW, next: NEXT } as const;
export const IMAGES = { now: imageOf(NOW), next: imageOf(NEXT) } as const;

/** Builds the image of this release. */
export const buildNow = async (): Promise<void> => {
  const file = join(root, 'infra', 'compose', 'compose.yaml');
  const env = { ...process.env, HOLDPOINT_IMAGE: IMAGES.now };
  await run('docker', ['compose', '-f', file, 'build', 'prepare'], { env });
};

/** The next release: the same programs with one more migration of each service, on tables in use. */
export const buildNext = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-next-'));
  try {
    writeFileSync(join(folder, `${NEXT_MIGRATION}.ts`), MIGRATION);
    const copies = SERVICES.map(
      (service) => `COPY ${NEXT_MIGRATION}.ts /app/services/${service}/migrations/${NEXT_MIGRATION}.ts`,
    );
    writeFileSync(join(folder, 'Dockerfile'), [`FROM ${IMAGES.now}`, ...copies, ''].join('\n'));
    await run('docker', ['build', '--quiet', '--tag', IMAGES.next, folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
};
