import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { propagation, trace } from '@opentelemetry/api';
import { afterEach, describe, expect, test } from 'vitest';
import { ConfigError } from './config.ts';
import { silentLogger } from '../observability/log.ts';
import { startSpan } from '../engine/telemetry.ts';
import { readTracing, startTracing } from './tracing.ts';

describe('settings', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };
  test.each([
    ['nothing', {}],
    ['a variable that is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['an SDK that is disabled', { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }],
    ['a sampler alone', { OTEL_TRACES_SAMPLER: 'always_on' }],
  ])('with %s no traces are sent', (_what, env) => {
    expect(readTracing(env)).toBeUndefined();
  });

  test('an endpoint gets the path of traces', () => {
    expect(readTracing(endpoint)).toEqual({
      url: 'http://127.0.0.1:4318/v1/traces',
      sampler: 'parentbased_always_on',
      ratio: 1,
    });
  });

  test('an endpoint for traces is used as it is, with its ratio', () => {
    expect(
      readTracing({
        ...endpoint,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/x',
        OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.1',
      }),
    ).toEqual({ url: 'https://traces.example/x', sampler: 'parentbased_traceidratio', ratio: 0.1 });
  });

  test('every wrong variable is named without its value', () => {
    const read = (): unknown =>
      readTracing({
        OTEL_EXPORTER_OTLP_ENDPOINT: 'sesame',
        OTEL_TRACES_SAMPLER: 'some',
        OTEL_TRACES_SAMPLER_ARG: '2',
      });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT.*OTEL_TRACES_SAMPLER:.*OTEL_TRACES_SAMPLER_ARG/);
    expect(read).not.toThrow(/sesame/);
  });
});

describe('spans', () => {
  afterEach(() => {
    trace.disable();
    propagation.disable();
  });
  const names = { service: 'executor', instance: 'executor-1' };
  const settings = { sampler: 'always_on', ratio: 1 } as const;

  test('spans carry the name of the service and are sent at the latest at the end', async () => {
    const bodies: string[] = [];
    const receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        bodies.push(body);
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    const tracing = await startTracing(
      { url: `http://127.0.0.1:${String(port)}/v1/traces`, ...settings },
      names,
      silentLogger(),
    );
    startSpan('executor run', { parent: undefined, links: [] }).end();
    await tracing.stop();
    receiver.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
    expect(bodies).toHaveLength(1);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
      resourceSpans: [
        {
          resource: {
            attributes: expect.arrayContaining([
              { key: 'service.name', value: { stringValue: 'holdpoint-executor' } },
              { key: 'service.instance.id', value: { stringValue: 'executor-1' } },
            ]) as unknown,
          },
          scopeSpans: [{ spans: [{ name: 'executor run' }] }],
        },
      ],
    });
  });

  test('spans without a collector delay neither the work nor the stop', async () => {
    const tracing = await startTracing(
      { url: 'http://127.0.0.1:9/v1/traces', ...settings },
      names,
      silentLogger(),
    );
    for (let i = 0; i < 20_000; i += 1) startSpan('x', { parent: undefined, links: [] }).end();
    await expect(tracing.stop()).resolves.toBeUndefined();
  });
});
