import { TraceFlags } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from './tracing.ts';

/** A trace that continues another after a long wait is sampled if that one was: half a trace is of no use. */
const asBefore = (root: Sampler): Sampler => ({
  shouldSample: (context, traceId, name, kind, attributes, links) => {
    const before = links[0]?.context;
    if (before === undefined) return root.shouldSample(context, traceId, name, kind, attributes, links);
    const kept = (before.traceFlags & TraceFlags.SAMPLED) !== 0;
    return { decision: kept ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
  },
  toString: () => `AsBefore{${root.toString()}}`,
});

/** The samplers that OpenTelemetry has names for. */
export const samplerOf = (name: TracingSettings['sampler'], ratio: number): Sampler => {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: asBefore(new AlwaysOnSampler()) });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: asBefore(new TraceIdRatioBasedSampler(ratio)) });
  }
};
