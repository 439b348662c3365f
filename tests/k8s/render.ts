import { EXAMPLES, update } from './manifests.ts';

// Renders the examples of the chart again, into infra/chart/rendered.
for (const example of EXAMPLES) update(example);
