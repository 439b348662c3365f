import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '@holdpoint/infra/local/folders';
import { z } from 'zod';
import { BUILD_WITHIN_MS, docker, MANIFEST, whyNoCompose } from './project.ts';

const obstacle = await whyNoCompose();
if (obstacle !== undefined)
  process.stderr.write(`image: skipped, because there is no Docker engine: ${obstacle}\n`);

const run = promisify(execFile);
const BASE = 'node:24-bookworm-slim';
const ABOVE_BASE_MAX_BYTES = 150_000_000;
const NAME = `holdpoint-test-${String(process.pid)}`;
const [first, second, core] = [`${NAME}:first`, `${NAME}:second`, `${NAME}:core`];

const build = (
  image: string,
  { more = [], files = [] }: { readonly more?: readonly string[]; readonly files?: readonly string[] } = {},
) =>
  docker(['compose', ...[MANIFEST, ...files].flatMap((file) => ['-f', file]), 'build', ...more, 'prepare'], {
    env: { ...process.env, HOLDPOINT_IMAGE: image, HOLDPOINT_VERSION: '1.2.3', HOLDPOINT_REVISION: 'abc' },
    timeoutMs: BUILD_WITHIN_MS,
  });

const layersOf = async (image: string): Promise<readonly string[]> =>
  z
    .array(z.string())
    .parse(JSON.parse(await docker(['image', 'inspect', image, '--format', '{{json .RootFS.Layers}}'])));

/** The files of the layers of an image, as archives, the base first. */
const withLayers = async <R>(image: string, use: (layers: readonly string[]) => Promise<R>): Promise<R> => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-image-'));
  try {
    await docker(['save', '--output', join(folder, 'image.tar'), image], { timeoutMs: BUILD_WITHIN_MS });
    await run('tar', ['--extract', '--file', join(folder, 'image.tar'), '--directory', folder]);
    const [{ Layers: layers }] = z
      .tuple([z.object({ Layers: z.array(z.string()) })])
      .parse(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')));
    return await use(layers.map((layer) => join(folder, layer)));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const BLOCK = 512;
/** Entries of an archive that extend the next one: long names and times. */
const EXTENDS = new Set(['x', 'L', 'K']);

/** The entries of an archive by their names, each with a digest of its name, mode, owner, time and content. */
const entriesOf = (archive: Buffer): readonly string[] => {
  const text = (from: number, length: number): string =>
    archive.toString('latin1', from, from + length).replace(/\0.*$/s, '');
  const entries: string[] = [];
  for (let from = 0, at = 0; archive[at] !== undefined && archive[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const isOver = !EXTENDS.has(text(at + 156, 1));
    const name = text(at, 100);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    if (!isOver) continue;
    entries.push(`${name} ${createHash('sha256').update(archive.subarray(from, at)).digest('hex')}`);
    from = at;
  }
  return entries.toSorted();
};

/** Runs the image with a read-only root. Resolves to its exit code and its output. */
const start = async (
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly output: string }> => {
  try {
    const { stdout, stderr } = await run('docker', ['run', '--rm', '--read-only', ...args]);
    return { code: 0, output: `${stdout}${stderr}` };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: `${stdout}${stderr}` };
  }
};

/** The head of a 64-bit ELF program for an architecture (`e_machine`). No kernel goes beyond it on another machine. */
const foreignProgram = (machine: number): Buffer => {
  const program = Buffer.alloc(4_096);
  program.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  program.writeUInt16LE(2, 16);
  program.writeUInt16LE(machine, 18);
  return program;
};
const [ARM64, AMD64] = [0xb7, 0x3e];

describe.skipIf(obstacle !== undefined)('another architecture', () => {
  test('an image for another architecture ends with the error of the troubleshooting guide, whose command tells the architecture', async () => {
    const [other, machine] = process.arch === 'arm64' ? ['amd64', AMD64] : ['arm64', ARM64];
    const folder = mkdtempSync(join(tmpdir(), 'holdpoint-image-'));
    const image = `${NAME}:other`;
    try {
      writeFileSync(join(folder, 'tini'), foreignProgram(machine), { mode: 0o755 });
      writeFileSync(
        join(folder, 'Dockerfile'),
        'FROM scratch\nCOPY tini /usr/bin/tini\nENTRYPOINT ["/usr/bin/tini", "--", "holdpoint"]\n',
      );
      await docker(['build', '--quiet', '--platform', `linux/${other}`, '--tag', image, folder]);
      const { code, output } = await start(image, '--version');
      expect(code).not.toBe(0);
      expect(output.trim().split('\n').at(-1)).toMatch(/exec format error/);
      const guide = readFileSync(join(root, 'docs', 'troubleshooting.md'), 'utf8');
      const [, format = ''] =
        /`exec format error` \| `docker image inspect --format '(.+?)' /.exec(guide) ?? [];
      expect((await docker(['image', 'inspect', '--format', format, image])).trim()).toBe(other);
    } finally {
      rmSync(folder, { recursive: true });
      await docker(['image', 'rm', '--force', image]);
    }
  });
});

describe.skipIf(obstacle !== undefined)('the image', () => {
  beforeAll(() => build(first), BUILD_WITHIN_MS);
  afterAll(() => docker(['image', 'rm', '--force', first, second, core]), 120_000);

  // By their entries: with graph drivers, the order in which an engine lists them depends on which layers it knows.
  test(
    'two builds without a cache have the same files in each layer, with equal times',
    async () => {
      await build(second, { more: ['--no-cache'] });
      const read = (image: string) =>
        withLayers(image, async (layers) => layers.map((layer) => entriesOf(readFileSync(layer))));
      const [ours, theirs] = [await read(first), await read(second)];
      expect(ours.map((layer) => layer.length)).toEqual(theirs.map((layer) => layer.length));
      expect(ours.flat()).toContainEqual(expect.stringMatching(/^app\/package\.json /));
      for (const [index, layer] of ours.entries()) {
        const there = new Set(theirs[index]);
        expect(layer.filter((entry) => !there.has(entry))).toEqual([]);
      }
    },
    BUILD_WITHIN_MS,
  );

  test('the image adds at most 150 MB to its base, compressed', async () => {
    const ofBase = (await layersOf(BASE)).length;
    const bytes = await withLayers(first, async (layers) => {
      let sum = 0;
      for (const layer of layers.slice(ofBase))
        await pipeline(createReadStream(layer), createGzip(), async (parts) => {
          for await (const part of parts) sum += (part as Buffer).length;
        });
      return sum;
    });
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(ABOVE_BASE_MAX_BYTES);
  });

  test('the image has labels, a health check, a bill of its packages, and no root user', async () => {
    const Config = z.object({
      User: z.string(),
      Labels: z.record(z.string(), z.string()),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
    });
    const { User, Labels, Healthcheck } = Config.parse(
      JSON.parse(await docker(['image', 'inspect', first, '--format', '{{json .Config}}'])),
    );
    expect(User).toBe('1000:1000');
    expect(Labels).toMatchObject({
      'org.opencontainers.image.version': '1.2.3',
      'org.opencontainers.image.revision': 'abc',
      'org.opencontainers.image.licenses': 'Apache-2.0',
    });
    expect(Healthcheck.Test).toContain('/app/infra/docker/healthcheck.mjs');
    const { output } = await start('--entrypoint', 'cat', first, '/app/sbom.cdx.json');
    const Bill = z.object({
      bomFormat: z.literal('CycloneDX'),
      components: z.array(z.object({ name: z.string(), purl: z.string() })),
    });
    const names = Bill.parse(JSON.parse(output)).components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['pg', 'zod', '@nats-io/transport-node']));
  });

  test('the target core has no Git, and runs the services', { timeout: BUILD_WITHIN_MS }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdpoint-core-'));
    try {
      const override = join(folder, 'core.yaml');
      writeFileSync(override, 'services: { prepare: { build: { target: core } } }\n');
      await build(core, { files: [override] });
    } finally {
      rmSync(folder, { recursive: true });
    }
    const found = 'for tool in git tini node; do command -v $tool; done; exit 0';
    const { output } = await start('--entrypoint', 'sh', core, '-c', found);
    expect(output.trim().split('\n')).toEqual(['/usr/bin/tini', '/usr/local/bin/node']);
    expect(await start(core, 'serve', 'approvals')).toMatchObject({
      code: 78,
      output: expect.stringContaining('HOLDPOINT_NATS_URL') as string,
    });
  });

  test('wrong arguments and missing settings end with one line that names them', async () => {
    expect(await start(first, 'serve', 'nosuch')).toMatchObject({
      code: 2,
      output: expect.stringMatching(/nosuch.*orchestrator, approvals, executor, recovery/s) as string,
    });
    expect(await start(first, 'serve', 'orchestrator')).toMatchObject({
      code: 78,
      output: expect.stringContaining('HOLDPOINT_NATS_URL') as string,
    });
    expect((await start(first, '--version')).output).toMatch(/^\d+\.\d+\.\d+/);
  });
});
