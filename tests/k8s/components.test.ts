import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readSource, ROOT } from '../repo/source-tree.ts';
import {
  containerOf,
  kustomized,
  kustomizedFolder,
  parseManifests,
  rendered,
  workloads,
} from './manifests.ts';
import { allowedOf } from './network-policies.ts';

const there = kustomized('dev') !== undefined;
if (!there) process.stderr.write('k8s: components were not tried, because there is no kubectl\n');

describe.skipIf(!there)('production with a component', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdpoint-k8s-')));
  afterAll(() => rmSync(folder, { recursive: true }));

  const withComponent = (component: string) => {
    const at = (path: string) => relative(folder, join(realpathSync(ROOT), 'infra', 'k8s', path));
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      `resources: ['${at('overlays/production')}']\ncomponents: ['${at(`components/${component}`)}']\n`,
    );
    return parseManifests(kustomizedFolder(folder) ?? '');
  };
  const before = allowedOf(rendered('production'));

  test('approvals-outside lets only the approvals service reach other machines by HTTPS', () => {
    const { approvals, ...others } = before;
    if (approvals === undefined) throw new Error('no approvals');
    expect(allowedOf(withComponent('approvals-outside'))).toEqual({
      ...others,
      approvals: { ...approvals, egress: [...approvals.egress, '0.0.0.0/0:443'].toSorted() },
    });
  });

  test('tracing lets every service send spans, and sets the address', () => {
    const manifests = withComponent('tracing');
    const edge = 'namespace monitoring:4318';
    for (const [name, { egress }] of Object.entries(allowedOf(manifests)))
      expect([name, egress.includes(edge)]).toEqual([name, name !== 'provision']);
    const read = readSource('packages/runtime/src/service/tracing.ts');
    for (const workload of workloads(manifests).filter(({ kind }) => kind !== 'Job')) {
      const set = containerOf(workload)
        .env.map(({ name }) => name)
        .filter((name) => name.startsWith('OTEL_'));
      expect(set).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG']);
      for (const name of set) expect(read).toContain(`  ${name}: `);
    }
  });
});
