import { z } from 'zod';
import {
  ARTIFACT_RANGE_MAX_BYTES,
  ArtifactUri,
  ArtifactView,
  StoredArtifact,
} from '../effect/stored-artifact.ts';
import { CapabilityView, EffectOrder, EffectView, ExecutorView } from '../effect/views.ts';
import { Beat, BeatAnswer, Claim, ClaimAnswer, ClaimantView, EndAnswer, EndClaim } from '../effect/remote.ts';
import { EffectId, TaskId } from '../values/ids.ts';
import { Page, pageOf } from '../values/page.ts';
import { CapabilityLabel } from '../workflow/workflow.ts';
import { adminEndpoints, deadLetterEndpoints, endpoint } from './endpoint.ts';

/** Endpoints of the executor service. */
export const executorApi = {
  ...adminEndpoints,
  ...deadLetterEndpoints,
  get: endpoint('One effect of the ledger', z.object({ id: EffectId }), EffectView),
  list: endpoint('Effects of one task', z.object({ task: TaskId }), z.object({ items: z.array(EffectView) })),
  capabilities: endpoint(
    'Capabilities of this executor, including custom ones',
    z.object({ uses: CapabilityLabel.optional() }),
    z.object({ items: z.array(CapabilityView) }),
  ),
  order: endpoint('Order, outputs and compensation of one effect', z.object({ id: EffectId }), EffectOrder),
  executors: endpoint(
    'Executors of the ledger, the latest first, and the confinement of work of the one that answers',
    z.object({}),
    z.object({ items: z.array(ExecutorView), work: z.string() }),
  ),
  forget: endpoint(
    'Declare the journal of an executor lost, so that no effect waits for it; needs a verified identity',
    z.object({ name: z.string().min(1).max(200), reason: z.string().min(1).max(1_000) }),
    ExecutorView,
  ),
  claim: endpoint('Claim orders of remote effects; waits for one', Claim, ClaimAnswer),
  beat: endpoint('Extend the leases of claimed orders', Beat, BeatAnswer),
  end: endpoint('Record the result of a claimed order', EndClaim, EndAnswer),
  claimants: endpoint(
    'Programs that claim remote effects, by name, and the orders in their hands',
    Page,
    pageOf(ClaimantView),
  ),
  artifacts: endpoint(
    'Artifacts of one task: full logs and large outputs, oldest first',
    Page.extend({ task: TaskId }),
    pageOf(ArtifactView),
  ),
  artifact: endpoint(
    'One artifact; with `limit`, a part of its content',
    z.object({
      uri: ArtifactUri,
      /** First byte. */
      offset: z.int().min(0).optional(),
      limit: z.int().min(1).max(ARTIFACT_RANGE_MAX_BYTES).optional(),
    }),
    z.object({
      artifact: StoredArtifact,
      /** Starts that produced this content; several when they printed the same. */
      sources: z.array(ArtifactView),
      stored: z.boolean(),
      /** Base64; absent unless a limit was requested. */
      data: z.string().optional(),
    }),
  ),
} as const;
