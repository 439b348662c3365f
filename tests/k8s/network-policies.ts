import { z } from 'zod';
import { isSelected, type Manifest, workloads } from './manifests.ts';

const Labels = z.record(z.string(), z.string()).default({});
const Selector = z.strictObject({ matchLabels: Labels }).or(z.strictObject({}));
const Peer = z.strictObject({
  podSelector: Selector.optional(),
  namespaceSelector: z.strictObject({ matchLabels: Labels }).optional(),
  ipBlock: z.strictObject({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
});
const Ports = z.array(z.strictObject({ protocol: z.enum(['TCP', 'UDP']), port: z.int() })).optional();
const Policy = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.strictObject({
    podSelector: Selector,
    policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
    ingress: z.array(z.strictObject({ from: z.array(Peer), ports: Ports })).default([]),
    egress: z.array(z.strictObject({ to: z.array(Peer), ports: Ports })).default([]),
  }),
});
type Peer = z.infer<typeof Peer>;

const labelsOf = (selector: z.infer<typeof Selector> | undefined): Readonly<Record<string, string>> =>
  selector !== undefined && 'matchLabels' in selector ? selector.matchLabels : {};

/** Names pods of the same namespace by their workload, and describes other peers. */
const peers = (
  peer: Peer,
  pods: readonly (readonly [string, Readonly<Record<string, string>>])[],
): readonly string[] => {
  if (peer.ipBlock !== undefined) return [peer.ipBlock.cidr];
  if (peer.namespaceSelector !== undefined) {
    const [space] = Object.values(peer.namespaceSelector.matchLabels);
    return [`namespace ${String(space)}`];
  }
  return pods.filter(([, labels]) => isSelected(labels, labelsOf(peer.podSelector))).map(([name]) => name);
};

export type Allowed = { readonly egress: readonly string[]; readonly ingress: readonly string[] };

/**
 * The connections that the policies allow each pod: `<peer>:<port>`, with `*` for any port. Throws if no
 * policy restricts a direction of a pod.
 */
export const allowedOf = (manifests: readonly Manifest[]): Readonly<Record<string, Allowed>> => {
  const pods = workloads(manifests).map(
    // The name of a job ends with a digest of its content.
    ({ kind, metadata, spec }) =>
      [
        kind === 'Job' ? metadata.name.replace(/-[0-9a-f]{8}$/, '') : metadata.name,
        spec.template.metadata.labels,
      ] as const,
  );
  const policies = manifests
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map((each) => Policy.parse(each).spec);
  const portsOf = (ports: z.infer<typeof Ports>): readonly string[] =>
    ports === undefined ? ['*'] : [...new Set(ports.map(({ port }) => String(port)))];
  return Object.fromEntries(
    pods.map(([name, labels]) => {
      const mine = policies.filter(({ podSelector }) => isSelected(labels, labelsOf(podSelector)));
      for (const direction of ['Ingress', 'Egress'] as const)
        if (!mine.some(({ policyTypes }) => policyTypes.includes(direction)))
          throw new Error(`${name}: no policy of ${direction}`);
      const edges = (
        rules: readonly { readonly with: readonly Peer[]; readonly ports: z.infer<typeof Ports> }[],
      ) =>
        [
          ...new Set(
            rules.flatMap((rule) =>
              rule.with
                .flatMap((peer) => peers(peer, pods))
                .flatMap((peer) => portsOf(rule.ports).map((port) => `${peer}:${port}`)),
            ),
          ),
        ].toSorted();
      return [
        name,
        {
          egress: edges(mine.flatMap(({ egress }) => egress.map(({ to, ports }) => ({ with: to, ports })))),
          ingress: edges(
            mine.flatMap(({ ingress }) => ingress.map(({ from, ports }) => ({ with: from, ports }))),
          ),
        },
      ] as const;
    }),
  );
};
