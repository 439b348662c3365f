import { describe, expect, test } from 'vitest';
import { readSource } from '../repo/source-tree.ts';
import { containerOf, helm, parseManifests, rendered, renderedNow, workloads } from './manifests.ts';
import { allowedOf } from './network-policies.ts';

const there = helm('version') !== undefined;
if (!there) process.stderr.write('k8s: options of the chart were not tried, because there is no helm\n');

describe.skipIf(!there)('production with an option', () => {
  const withValue = (value: string) =>
    parseManifests(renderedNow('production', '--set', value)?.stdout ?? '');
  const before = allowedOf(rendered('production'));

  test('`approvals.outside` lets only the approvals service reach other machines by HTTPS', () => {
    const { approvals, ...others } = before;
    if (approvals === undefined) throw new Error('no approvals');
    expect(allowedOf(withValue('approvals.outside=true'))).toEqual({
      ...others,
      approvals: { ...approvals, egress: [...approvals.egress, '0.0.0.0/0:443'].toSorted() },
    });
  });

  test('`tracing.endpoint` lets every service send spans, and sets the address', () => {
    const manifests = withValue('tracing.endpoint=http://collector.monitoring:4318');
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
