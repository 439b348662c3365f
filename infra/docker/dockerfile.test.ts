import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sharesOf } from '../compose/hand-out.ts';
import { root } from '../local/folders.ts';

const text = (path: string) => readFile(join(root, path), 'utf8');

const only = (source: string, pattern: RegExp): string | undefined => pattern.exec(source)?.groups?.['it'];

test('the image is built with the same pnpm as a local installation', async () => {
  const local = only(await text('infra/bootstrap.mjs'), /^const PNPM = '(?<it>[\d.]+)';$/m);
  expect(local).toMatch(/^\d+\.\d+\.\d+$/);
  expect(only(await text('infra/docker/Dockerfile'), /^ARG PNPM_VERSION=(?<it>\S+)$/m)).toBe(local);
});

test('the image runs the same Node.js release line as a local start', async () => {
  const { devDependencies } = JSON.parse(await text('package.json')) as { devDependencies: { node: string } };
  const line = devDependencies.node.split('.')[0];
  expect(only(await text('infra/docker/Dockerfile'), /^ARG BASE=node:(?<it>\d+)-bookworm-slim$/m)).toBe(line);
});

test('the last stages run nothing and do not run as root, so that every build gives the same files', async () => {
  const [core = '', last = ''] = (await text('infra/docker/Dockerfile')).split(/^FROM /m).slice(-2);
  expect(core).toMatch(/^base AS core$/m);
  expect(core).toMatch(/^USER 1000:1000$/m);
  expect(last).toMatch(/^core AS holdpoint$/m);
  for (const stage of [core, last]) {
    expect(stage).not.toMatch(/^RUN /m);
    expect(stage).not.toMatch(/^USER (?!1000:1000$)/m);
  }
});

test('the Dockerfile names no architecture and downloads no program, so that it builds for every one of its base', async () => {
  const steps = (await text('infra/docker/Dockerfile')).replaceAll(/^#.*$/gm, '');
  expect(steps).not.toMatch(/amd64|x86|x64|arm64|aarch64|TARGETARCH|TARGETPLATFORM|BUILDPLATFORM/i);
  expect(steps).not.toMatch(/https?:|\bcurl\b|\bwget\b|^ADD /m);
});

test('the image contains the console page, and nothing of its bundler', async () => {
  const stages = (await text('infra/docker/Dockerfile')).split(/^FROM /m).slice(1);
  const [modules, page, tree] = ['modules', 'console', 'tree'].map(
    (name) => stages.find((stage) => only(stage, /AS (?<it>\S+)$/m) === name) ?? '',
  );
  expect(page).toContain('RUN node packages/console/build.mjs');
  expect(tree).toContain('COPY --from=console /app/packages/console/dist /tree/app/packages/console/dist');
  expect(modules).toContain('--no-optional');
  expect(modules).toContain("--filter '!@holdpoint/console'");
});

test('the image has a folder for the secrets of each container, which root does not own', async () => {
  const made = only(
    await text('infra/docker/Dockerfile'),
    /cd handed-out && install .*--mode=0750 (?<it>.+?) \\$/m,
  );
  expect(made?.split(' ').toSorted()).toEqual(
    sharesOf('')
      .map(({ to }) => to)
      .toSorted(),
  );
});
