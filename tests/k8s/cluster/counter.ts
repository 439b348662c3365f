import { z } from 'zod';
import type { Cluster } from './cluster.ts';

// An HTTP target in the cluster that remembers idempotency keys. No fault touches it.

const NAME = 'counter';
export const COUNTER_PORT = 8080;

const PROGRAM = `
import { createServer } from 'node:http';
const applied = {};
createServer((request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify(applied));
  const key = request.headers['idempotency-key'] ?? 'none';
  applied[key] ??= { path: request.url, requests: 0 };
  applied[key].requests += 1;
  request.resume();
  response.end('{}');
}).listen(${String(COUNTER_PORT)});
`;

const restricted = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  runAsUser: 1000,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Its manifests. */
export const counterManifests = (image: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: NAME }, data: { 'counter.mjs': PROGRAM } },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: NAME, labels: { app: NAME } },
        spec: {
          containers: [
            {
              name: NAME,
              image,
              imagePullPolicy: 'IfNotPresent',
              command: ['tini', '--', 'node', '/program/counter.mjs'],
              securityContext: restricted,
              volumeMounts: [{ name: 'program', mountPath: '/program' }],
            },
          ],
          volumes: [{ name: 'program', configMap: { name: NAME } }],
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: NAME },
        spec: { selector: { app: NAME }, ports: [{ port: COUNTER_PORT }] },
      },
    ],
  });

export const counterOrigin = (namespace: string): string =>
  `http://${NAME}.${namespace}.svc:${String(COUNTER_PORT)}`;

const Applied = z.record(z.string(), z.object({ path: z.string(), requests: z.int() }));

/** How often each path was applied: once for each idempotency key. */
export const applications = async ({ forward }: Cluster): Promise<ReadonlyMap<string, number>> => {
  const { port, stop } = await forward(`pod/${NAME}`, COUNTER_PORT);
  try {
    const answer = await fetch(`http://127.0.0.1:${String(port)}/`);
    const counts = new Map<string, number>();
    for (const { path } of Object.values(Applied.parse(await answer.json())))
      counts.set(path, (counts.get(path) ?? 0) + 1);
    return counts;
  } finally {
    stop();
  }
};
