import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ROOT } from '../repo/source-tree.ts';
import { type Manifest, EXAMPLES, rendered } from './manifests.ts';

/** KEDA's resource definitions are a separate package. */
const packageOf = (group: string): string =>
  group === 'keda.sh' ? '@kubernetes-models/keda' : 'kubernetes-models';

/** The path of an API group in the packages: `apps/v1` is `kubernetes-models/apps/v1`. */
const moduleOf = ({ apiVersion, kind }: Manifest): string => {
  const [group = ''] = apiVersion.split('/');
  return `${packageOf(group)}/${apiVersion}/${kind}`;
};

type Model = { readonly validate: () => void };

/** Validates a manifest against the published JSON schema of its kind. Throws the violations. */
const validate = async (manifest: Manifest): Promise<void> => {
  const models = (await import(moduleOf(manifest))) as Readonly<Record<string, new (data: unknown) => Model>>;
  const Kind = models[manifest.kind];
  if (Kind === undefined) throw new Error(`no schema of ${manifest.kind}`);
  new Kind(manifest).validate();
};

const all = EXAMPLES.flatMap((example) =>
  rendered(example).map((manifest) => [example, manifest.kind, manifest.metadata.name, manifest] as const),
);

describe('the JSON schemas of Kubernetes', () => {
  test.each(all)('the JSON schema accepts %s: %s %s', async (_example, _kind, _name, manifest) => {
    await expect(validate(manifest)).resolves.toBeUndefined();
  });

  test('the JSON schema rejects a wrong manifest', async () => {
    const [, , , deployment] = all.find(([, kind]) => kind === 'Deployment') ?? [];
    if (deployment === undefined) throw new Error('no deployment');
    const spec = deployment['spec'] as Readonly<Record<string, unknown>>;
    await expect(validate({ ...deployment, spec: { ...spec, selector: 'all' } })).rejects.toThrow(/selector/);
    await expect(validate({ ...deployment, spec: { ...spec, replicas: 'two' } })).rejects.toThrow(/replicas/);
  });
});

/**
 * The schemas accept unknown fields, and Kubernetes drops them silently. The types from the same source
 * reject them.
 */
describe('unknown fields', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-k8s-'));
  symlinkSync(join(ROOT, 'tests', 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  afterAll(() => rmSync(folder, { recursive: true }));

  const complaints = (name: string, manifests: readonly Manifest[]): string => {
    const lines = manifests.map((manifest, at) => {
      const { kind } = manifest;
      const imported = `import type { I${kind} as K${String(at)} } from ${JSON.stringify(moduleOf(manifest))};`;
      return `${imported}\nexport const m${String(at)}: K${String(at)} = ${JSON.stringify(manifest)};`;
    });
    writeFileSync(join(folder, name), lines.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext'];
    const { stdout, stderr } = spawnSync(join(ROOT, 'node_modules', '.bin', 'tsc'), [...options, name], {
      cwd: folder,
      encoding: 'utf8',
    });
    return `${stdout}${stderr}`;
  };

  test.each(EXAMPLES)('%s has no field that is unknown to Kubernetes', (example) => {
    expect(complaints(`${example}.ts`, rendered(example))).toBe('');
  });

  test('an unknown field is reported', () => {
    const [first] = rendered('trial').filter(({ kind }) => kind === 'Service');
    if (first === undefined) throw new Error('no service');
    const spec = first['spec'] as Readonly<Record<string, unknown>>;
    expect(complaints('wrong.ts', [{ ...first, spec: { ...spec, sesionAffinity: 'None' } }])).toContain(
      'sesionAffinity',
    );
  });
});
