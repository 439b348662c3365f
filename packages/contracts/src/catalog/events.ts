import { z } from 'zod';
import { TokenEvent } from '../approval/access-token.ts';
import { CapabilityEvent } from '../approval/capability.ts';
import { PeopleEvent } from '../approval/people.ts';
import { EnrolmentEvent } from '../approval/enrolment.ts';
import { ApprovalEvent } from '../approval/events.ts';
import { RuleEvent } from '../approval/standing-rule.ts';
import { AuditAnchored } from '../audit/audit.ts';
import { EffectEvent } from '../effect/events.ts';
import { ProgramEvent } from '../program/events.ts';
import { RecoveryEvent } from '../recovery/events.ts';
import { TaskEvent } from '../task/events.ts';
import { RegistryEvent } from '../task/registry.ts';
import { CallbackEvent } from '../webhook/callback.ts';

/** Every event on the bus by publishing service: `hp.evt.<aggregate>.<event>.<id>`. */
export const events = {
  orchestrator: z.discriminatedUnion('type', [
    ...TaskEvent.options,
    ...RegistryEvent.options,
    ...ProgramEvent.options,
  ]),
  approvals: z.discriminatedUnion('type', [
    ...ApprovalEvent.options,
    ...RuleEvent.options,
    ...TokenEvent.options,
    ...PeopleEvent.options,
    ...EnrolmentEvent.options,
    ...CapabilityEvent.options,
    ...CallbackEvent.options,
    AuditAnchored,
  ]),
  executor: EffectEvent,
  recovery: RecoveryEvent,
} as const;
