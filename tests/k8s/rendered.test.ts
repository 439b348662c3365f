import { expect, test } from 'vitest';
import { kustomized, type Manifest, OVERLAYS, parseManifests, rendered } from './manifests.ts';

const there = kustomized('dev') !== undefined;
if (!there)
  process.stderr.write('k8s: what is rendered was not rendered again, because there is no kubectl\n');

/** Versions of kubectl differ in order and spelling. */
const byName = (manifests: readonly Manifest[]): Readonly<Record<string, Manifest>> =>
  Object.fromEntries(
    manifests.map((each) => [`${each.apiVersion} ${each.kind} ${each.metadata.name}`, each]),
  );

test.skipIf(!there).each(OVERLAYS)(
  'infra/k8s/rendered/%s.yaml is the output of kubectl for the overlay',
  (overlay) => {
    const made = parseManifests(kustomized(overlay) ?? '');
    expect(Object.keys(byName(made))).toHaveLength(made.length);
    expect(byName(rendered(overlay))).toEqual(byName(made));
  },
);
