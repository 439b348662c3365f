import { expect, test } from 'vitest';
import { kustomized, OVERLAYS, renderedText } from './manifests.ts';

const there = kustomized('dev') !== undefined;
if (!there)
  process.stderr.write('k8s: what is rendered was not rendered again, because there is no kubectl\n');

test.skipIf(!there).each(OVERLAYS)(
  'infra/k8s/rendered/%s.yaml is what kubectl makes of the overlay',
  (overlay) => {
    expect(renderedText(overlay)).toBe(kustomized(overlay));
  },
);
