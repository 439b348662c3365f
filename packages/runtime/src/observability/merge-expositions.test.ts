import { expect, test } from 'vitest';
import { mergeExpositions } from './merge-expositions.ts';

const saying = (text: string) => ({ contentType: 'text/plain', text: () => Promise.resolve(text) });

const ONE =
  '# HELP a_total As\n# TYPE a_total counter\na_total{service="one"} 1\n# TYPE b gauge\nb{service="one"} 2\n';
const OTHER = '# HELP a_total As\n# TYPE a_total counter\na_total{service="other"} 3\n';

test('each metric of several services is described once, before the lines of all', async () => {
  expect(await mergeExpositions([saying(ONE), saying(OTHER)]).text()).toBe(
    [
      '# HELP a_total As',
      '# TYPE a_total counter',
      'a_total{service="one"} 1',
      'a_total{service="other"} 3',
      '',
      '# TYPE b gauge',
      'b{service="one"} 2',
      '',
    ].join('\n'),
  );
});

test('the metrics of one service are shown as they are', async () => {
  expect(await mergeExpositions([saying(ONE)]).text()).toBe(ONE);
});
