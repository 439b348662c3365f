import { z } from 'zod';
import {
  ARTIFACT_RANGE_MAX_BYTES,
  ArtifactUri,
  ArtifactView,
  StoredArtifact,
} from '../effect/stored-artifact.ts';
import { CapabilityView, EffectOrder, EffectView } from '../effect/views.ts';
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
