import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sharesOf } from '../compose/hand-out.ts';
import { services } from '../credentials/layout.ts';
import { root } from '../local/folders.ts';

const text = (path: string) => readFile(join(root, path), 'utf8');

const only = (source: string, pattern: RegExp): string | undefined => pattern.exec(source)?.groups?.['it'];

test('images are built with the same pnpm as a local installation', async () => {
  const local = only(await text('infra/bootstrap.mjs'), /^const PNPM = '(?<it>[\d.]+)';$/m);
  expect(local).toMatch(/^\d+\.\d+\.\d+$/);
  expect(only(await text('infra/docker/Dockerfile'), /^ARG PNPM_VERSION=(?<it>\S+)$/m)).toBe(local);
});

test('images run the same Node.js release line as a local start', async () => {
  const { devDependencies } = JSON.parse(await text('package.json')) as { devDependencies: { node: string } };
  const line = devDependencies.node.split('.')[0];
  expect(only(await text('infra/docker/Dockerfile'), /^FROM node:(?<it>\d+)-bookworm-slim AS base$/m)).toBe(
    line,
  );
});

test('every service has its own target, and no image runs as root', async () => {
  const stages = (await text('infra/docker/Dockerfile')).split(/^FROM /m).slice(1);
  const named = new Map(stages.map((stage) => [only(stage, /AS (?<it>\S+)$/m), stage]));
  for (const target of [...services, 'init', 'cli']) {
    const stage = named.get(target);
    expect([target, stage === undefined]).toEqual([target, false]);
    const inherited = stage?.startsWith('service ') === true ? named.get('service') : '';
    expect([target, `${inherited}${stage}`.match(/^USER .*$/gm)?.at(-1)]).toEqual([target, 'USER 1000:1000']);
  }
});

test('the image of approvals contains the console page, and nothing of its bundler', async () => {
  const stages = (await text('infra/docker/Dockerfile')).split(/^FROM /m).slice(1);
  const [approvals, page] = ['approvals', 'console'].map((name) =>
    stages.find((stage) => only(stage, /AS (?<it>\S+)$/m) === name),
  );
  expect(approvals).toContain('COPY --from=console /app/packages/console/dist packages/console/dist');
  expect(page).toContain('RUN node packages/console/build.mjs');
  expect(page).not.toContain('--no-optional');
});

/** The workspace packages that a service imports, directly and indirectly. */
const importedBy = async (folder: string): Promise<ReadonlySet<string>> => {
  const found = new Set<string>();
  const look = async (manifest: string): Promise<void> => {
    const { dependencies = {} } = JSON.parse(await text(manifest)) as {
      dependencies?: Readonly<Record<string, string>>;
    };
    const own = Object.keys(dependencies).flatMap((name) => /^@holdpoint\/(.+)$/.exec(name)?.[1] ?? []);
    for (const name of own) {
      if (found.has(name)) continue;
      found.add(name);
      await look(`packages/${name}/package.json`);
    }
  };
  await look(`${folder}/package.json`);
  return found;
};

test.each(services)('the image of %s contains every imported package', async (service) => {
  const stages = (await text('infra/docker/Dockerfile')).split(/^FROM /m).slice(1);
  const stage = stages.find((each) => only(each, /AS (?<it>\S+)$/m) === service) ?? '';
  const wanted = [...(await importedBy(`services/${service}`))];
  expect(wanted).toContain('runtime');
  expect(wanted.filter((name) => !stage.includes(`COPY packages/${name} packages/${name}\n`))).toEqual([]);
});

test('each image with secrets has a folder for them that root does not own', async () => {
  const made = only(
    await text('infra/docker/Dockerfile'),
    /cd \/handed-out && install .*--mode=0750 (?<it>.+)$/m,
  );
  expect(made?.split(' ').toSorted()).toEqual(
    sharesOf('')
      .map(({ to }) => to)
      .toSorted(),
  );
});
